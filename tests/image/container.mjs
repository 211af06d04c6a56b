// container.mjs ARGUMENT...: writes an OCI bundle (opencontainers/runtime-spec) for one container of the image, and prints its folder.
// The container has what `docker run` gives with --read-only, --cap-drop ALL and --security-opt no-new-privileges, except cgroups,
// and it uses the host's network.
//
//   IMAGE_JSON, IMAGE_ROOTFS, IMAGE_SECCOMP, IMAGE_DIR     from run.sh: the image, its files, Docker's profile, where bundles go
//   IMAGE_SECRETS                                          a folder of the host that is mounted at /run/secrets
//   IMAGE_WITHOUT                                          system calls, separated by spaces, that the profile then refuses
//
// All other variables but PATH go into the container.
import fs from 'node:fs';
import path from 'node:path';

const { IMAGE_JSON, IMAGE_ROOTFS, IMAGE_SECCOMP, IMAGE_DIR, IMAGE_SECRETS, IMAGE_WITHOUT = '', PATH, ...environment } = process.env;
const image = JSON.parse(fs.readFileSync(IMAGE_JSON, 'utf8')).Docker.config;
const [uid, gid] = image.User.split(':').map(Number);

/** Docker's profile as it applies to a container on x86-64 without capabilities. */
function seccomp() {
  const profile = JSON.parse(fs.readFileSync(IMAGE_SECCOMP, 'utf8'));
  const refused = new Set(IMAGE_WITHOUT.split(' '));
  const applies = ({ includes = {}, excludes = {} }) =>
    !includes.caps?.length && (includes.arches ?? ['amd64']).includes('amd64') && !(excludes.arches ?? []).includes('amd64');
  return {
    defaultAction: profile.defaultAction,
    defaultErrnoRet: profile.defaultErrnoRet ?? 1,
    architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'],
    syscalls: profile.syscalls.filter(applies).map(({ names, action, args, errnoRet }) => ({
      names: names.filter(name => !refused.has(name)),
      action,
      ...(args && { args }),
      ...(errnoRet && { errnoRet }),
    })),
  };
}

const bind = (source, destination, options) => ({ source, destination, type: 'bind', options: ['rbind', ...options] });
const config = {
  ociVersion: '1.0.0',
  process: {
    terminal: false,
    user: { uid, gid },
    args: [...image.Entrypoint, ...process.argv.slice(2)],
    env: [...image.Env, ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)],
    cwd: '/',
    capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
    noNewPrivileges: true,
  },
  root: { path: IMAGE_ROOTFS, readonly: true },
  hostname: 'fairway',
  mounts: [
    { source: 'proc', destination: '/proc', type: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
    { source: 'tmpfs', destination: '/dev', type: 'tmpfs', options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'] },
    bind('/etc/hosts', '/etc/hosts', ['ro']),
    bind('/etc/resolv.conf', '/etc/resolv.conf', ['ro']),
    ...(IMAGE_SECRETS ? [bind(IMAGE_SECRETS, '/run/secrets', ['rw'])] : []),
  ],
  linux: {
    namespaces: ['pid', 'mount', 'ipc', 'uts'].map(type => ({ type })),
    maskedPaths: ['/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list', '/proc/scsi'],
    readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    seccomp: seccomp(),
  },
};

fs.mkdirSync(path.join(IMAGE_DIR, 'bundles'), { recursive: true });
const bundle = fs.mkdtempSync(path.join(IMAGE_DIR, 'bundles', 'fairway-'));
fs.writeFileSync(path.join(bundle, 'config.json'), JSON.stringify(config));
console.log(bundle);
