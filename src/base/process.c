/* Reads the kernel's account of this process. */
#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/metric.h"

static struct {
    int statm;
    DIR *descriptors;
    time_t started_s;
    pthread_mutex_t reading;
} process = {.statm = -1, .reading = PTHREAD_MUTEX_INITIALIZER};

static void open_once(void)
{
    process.started_s = time(NULL);
    process.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    process.descriptors = opendir("/proc/self/fd");
}

void process_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_once);
}

static void put_cpu(FILE *out)
{
    static const char name[] = "process_cpu_seconds_total";
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0)
        return;
    metric_describe(out, "counter", name, "CPU time of this process, without the key process.");
    fprintf(out, "%s %.6f\n", name,
        (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
            (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
}

/* Of statm: the pages of the address space, and those that are in memory (proc(5)). */
static void put_memory(FILE *out)
{
    char text[64], *rest;
    const ssize_t len = process.statm < 0 ? -1 : pread(process.statm, text, sizeof text - 1, 0);
    if (len <= 0)
        return;
    text[len] = '\0';
    const int64_t page = sysconf(_SC_PAGESIZE), virtual = strtoll(text, &rest, 10),
                  resident = strtoll(rest, NULL, 10);
    metric_gauge(out, "process_virtual_memory_bytes", "Address space of this process.", virtual * page);
    metric_gauge(out, "process_resident_memory_bytes", "Memory of this process.", resident * page);
}

static void put_descriptors(FILE *out)
{
    struct rlimit limit;
    int64_t count = 0;
    if (process.descriptors != NULL) {
        pthread_mutex_lock(&process.reading);
        rewinddir(process.descriptors);
        for (struct dirent *entry; (entry = readdir(process.descriptors)) != NULL;)
            count += entry->d_name[0] != '.';
        pthread_mutex_unlock(&process.reading);
        metric_gauge(out, "process_open_fds", "Open files and sockets of this process.", count);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        metric_gauge(out, "process_max_fds", "The limit of open files and sockets.", (int64_t)limit.rlim_cur);
}

void process_write(FILE *out)
{
    process_open();
    put_cpu(out);
    put_memory(out);
    put_descriptors(out);
    metric_gauge(
        out, "process_start_time_seconds", "When this process started, Unix time.", process.started_s);
}
