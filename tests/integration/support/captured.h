/* What a captured fairway tries: the rows of the table in docker/security.md, "What a captured process can
 * do". tests/lint/readme.test.mjs compares them and the answers of the tests. */
#pragma once

#define READ_KEYS "read the master key, the passphrase or the distribution account's seed"
#define USE_KEYS "use the keys through the key process, as the next table says"
#define READ_KEYD "read the memory of the key process, debug it, or take a descriptor from it"
#define HARM_KEYD "suspend, slow or limit the key process"
#define END_KEYD "end the key process"
#define OTHERS "inspect, signal or change other processes"
#define READ_FILES "read the files above"
#define LOOK "see whether a file exists, its size, owner and times"
#define OTHER_FILES "read other files"
#define WRITE_FILES "write files, change their modes or owners, type into its terminal"
#define PROCESSES "start programs or processes"
#define THREADS "start threads, map libraries"
#define EXECUTE "make its memory executable, or execute shared memory"
#define PRIVILEGES "regain a privilege, make a namespace, mount, let itself be debugged"
#define KERNEL "use BPF, io_uring, perf, userfaultfd, kernel keys, System V or POSIX queues, or load a module"
#define NUMBERS "make calls by the numbers of i386 or x32"
#define CONNECT "open TCP and UDP connections, and those to UNIX sockets that are files"
#define ABSTRACT "connect to abstract UNIX sockets (Linux 6.12), unless an option names one"
#define OTHER_SOCKETS "open packet, raw, vsock or kernel cipher sockets, or netlink except routes"
#define LISTEN "bind or listen after its start"
