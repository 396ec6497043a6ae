"""A task that tries whatever a curious user, or somebody who has stolen a job, would: it runs in a container, and says
of each try in a line of JSON whether it got anything.

    curious.py ABOUT        a file of JSON: what there is to be had, as test_curious_task.py wrote it

The first, `control`, is the one that has to get something: what its user may.

A line is {"try": name, "got": what was had, or null, "why": what it was told instead}. Nothing is judged here."""

import ctypes
import errno
import glob
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
TRIES = []


def attempt(function):
    """Its name is the try's. It returns what it got, or raises what it was told."""
    TRIES.append(function)
    return function


def call(name, *args):
    """A function of libc, or an exception with its errno."""
    ctypes.set_errno(0)
    result = getattr(LIBC, name)(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscall(number, *args):
    return call("syscall", ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))


def read(path, size=4096):
    with open(path, "rb") as file:
        return file.read(size).decode(errors="replace")


def any_of(paths, what):
    """The first that something comes of; the last refusal, if nothing does."""
    refusal = OSError(errno.ENOENT, "nothing is there")
    for path in paths:
        try:
            got = what(path)
            if got:
                return f"{path}: {got}"
        except OSError as error:
            refusal = error
    raise refusal


def others_in(folder):
    """Names in a folder but those on the way to what this task was given: in its own /tmp there may be folders that
    were made for its mounts."""
    given = [os.environ[name] for name in ("GLIM_CHECKPOINT_DIR", "GLIM_SOCKET")] + [os.getcwd(), *sys.argv]
    names = [os.path.join(folder, name) for name in os.listdir(folder)]
    return [name for name in names if not any(f"{path}/".startswith(f"{name}/") for path in given)]


# ---- what belongs to another user


@attempt
def read_anothers_files(about):
    return any_of(about["private_files"], read)


@attempt
def write_anothers_files(about):
    return any_of(about["private_files"], lambda path: open(path, "ab").close() or "opened for writing")


@attempt
def list_anothers_folders(about):
    return any_of(about["private_folders"], others_in)


@attempt
def write_into_anothers_folders(about):
    def make(folder):
        os.close(os.open(os.path.join(folder, "curious"), os.O_CREAT | os.O_WRONLY, 0o600))
        return None  # (in a folder of its own /tmp it may; the test looks at the real one)

    return any_of(about["private_folders"], make)


@attempt
def find_what_an_earlier_task_left(about):
    """In the places that every task has."""
    places = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/glim", "/run/glim/private")
    own = os.path.abspath(sys.argv[1])
    given = os.stat(os.path.dirname(os.path.abspath(__file__)))  # this program's folder, of a checkout below /tmp
    for place in places:
        for path in glob.glob(os.path.join(place, "**"), recursive=True):
            if os.path.samestat(os.stat(os.path.dirname(path)), given):
                continue
            if about["mark"] in path or (
                os.path.isfile(path) and not os.path.samefile(path, own) and about["mark"] in read(path)
            ):
                return path
    return None


@attempt
def find_anothers_shared_memory(about):
    """System V's: segments, queues and semaphores of the node, of which this task has made none."""
    return "".join("".join(read(f"/proc/sysvipc/{kind}").splitlines()[1:]) for kind in ("shm", "msg", "sem")) or None


# ---- the node, its agent, other tasks


@attempt
def list_the_agents_folder(about):
    return any_of(about["agent_folders"], others_in)


@attempt
def read_the_agents_files(about):
    return any_of(about["agent_files"], read)


@attempt
def read_the_systems_secrets(about):
    paths = ["/etc/shadow", "/etc/gshadow", "/etc/ssh/ssh_host_ed25519_key", "/root/.ssh/id_rsa", "/etc/sudoers"]
    return any_of(paths + about["root_files"], read)


@attempt
def see_processes_of_the_node(about):
    """Beside its own: whose command line is none of this task's."""
    seen = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = read(f"/proc/{pid}/cmdline")
        except OSError:
            continue
        if any(word in line for word in about["others_words"]):
            seen.append(line.replace("\0", " ")[:200])
    return seen or None


@attempt
def signal_processes_of_the_node(about):
    refusal = OSError(errno.ESRCH, "there is none")
    for pid in about["others_pids"]:
        try:
            os.kill(pid, 0)
            return f"pid {pid}"
        except OSError as error:
            refusal = error
    raise refusal


@attempt
def speak_on_another_tasks_socket(about):
    def connect(path):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.connect(path)
            return "connected"

    return any_of(about["sockets"], connect)


@attempt
def see_where_other_tasks_lie(about):
    """Paths of other jobs in this task's mounts, groups and limits."""
    for path in ("mountinfo", "cgroup", "mounts"):
        text = read(f"/proc/self/{path}", 1 << 20)
        for word in about["others_words"]:
            if word in text:
                return f"/proc/self/{path} has {word}"
    return None


@attempt
def see_its_place_among_the_nodes_groups(about):
    lines = [line for line in read("/proc/self/cgroup").splitlines() if not line.endswith(":/")]
    return lines or None


@attempt
def leave_its_control_group(about):
    paths = glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:2000]
    return any_of(paths, lambda path: open(path, "w").close() or "opened for writing")


# ---- more rights than the user's


@attempt
def be_root(about):
    for name, args in (("setuid", (0,)), ("setresuid", (0, 0, 0)), ("setgid", (0,)), ("setgroups", (0, None))):
        try:
            call(name, *args)
            return f"{name}: uid {os.getuid()}, groups {os.getgroups()}"
        except OSError as error:
            refusal = error
    raise refusal


@attempt
def be_root_by_a_program(about):
    """su, mount, passwd and whatever else is set-uid."""
    for program in glob.glob("/usr/bin/*") + glob.glob("/usr/sbin/*"):
        if not os.stat(program).st_mode & stat.S_ISUID:
            continue
        with subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        ) as it:
            it.send_signal(signal.SIGSTOP)  # it waits for no input, and has not ended
            uids = next(line for line in read(f"/proc/{it.pid}/status").splitlines() if line.startswith("Uid:"))
            it.kill()
        if "0" in uids.split()[1:]:
            return f"{program} runs as {uids}"
    return None


@attempt
def have_capabilities(about):
    rows = dict(line.split(":\t") for line in read("/proc/self/status").splitlines() if ":\t" in line)
    some = {name: rows[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(rows[name], 16)}
    if rows["NoNewPrivs"] != "1" or rows["Seccomp"] != "2":
        some["unguarded"] = f"NoNewPrivs {rows['NoNewPrivs']}, Seccomp {rows['Seccomp']}"
    return some or None


@attempt
def be_in_other_groups(about):
    """Than its user's."""
    return sorted(({os.getgid()} | set(os.getgroups())) - set(about["groups"])) or None


@attempt
def make_namespaces(about):
    for flag in (CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNS):
        try:
            call("unshare", flag)
            return f"unshare {flag:#x}"
        except OSError as error:
            refusal = error
    raise refusal


@attempt
def mount_something(about):
    return call("mount", b"none", b"/tmp", b"tmpfs", 0, None) == 0 and "mounted"


@attempt
def make_a_device(about):
    os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
    return "made /tmp/disk"


@attempt
def open_devices(about):
    """That are not everybody's, as null and zero are."""
    usual = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue", "fd", "core"}
    usual |= {"stdin", "stdout", "stderr"} | set(about["devices"])
    return sorted(set(os.listdir("/dev")) - usual) or None


@attempt
def write_kernel_settings(about):
    paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"]
    return any_of(paths + ["/sys/kernel/uevent_helper"], lambda path: open(path, "w").close() or "opened for writing")


@attempt
def spare_itself_from_the_killer(about):
    """Of who has no memory: an own score below the agent's."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")
    return read("/proc/self/oom_score_adj")


@attempt
def read_the_kernels_secrets(about):
    return any_of(["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware/acpi/tables/DSDT"], read)


@attempt
def call_the_kernel_beyond_what_training_needs(about):
    """Numbers of x86-64: bpf, perf_event_open, keyctl, add_key, userfaultfd, io_uring_setup, kexec_load, init_module,
    open_by_handle_at, setns, pivot_root, swapon, reboot, syslog, acct, clock_settime, iopl."""
    numbers = (321, 298, 250, 248, 323, 425, 246, 175, 304, 308, 155, 167, 169, 103, 163, 227, 172)
    allowed = []
    for number in numbers:
        try:
            syscall(number, 0, 0, 0, 0, 0)
            allowed.append(number)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS):
                allowed.append(f"{number}: {error.strerror}")
    return allowed or None


# ---- the network that it shares with its node


@attempt
def speak_to_machines_under_it(about):
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM):
        return "a socket of the hypervisor's"


@attempt
def see_or_forge_packets(about):
    for family, kind, protocol in ((socket.AF_PACKET, socket.SOCK_RAW, 0x0300), (socket.AF_INET, socket.SOCK_RAW, 1)):
        try:
            with socket.socket(family, kind, protocol):
                return f"a raw socket of family {family}"
        except OSError as error:
            refusal = error
    raise refusal


@attempt
def take_a_port_of_the_systems(about):
    with socket.socket() as one:
        one.bind(("0.0.0.0", 111))
        return "port 111"


def glim(about, *words, env=None):
    """What the command line gets by the task's own means."""
    argv = [about["glim"], "--server", about["server"], *words]
    done = subprocess.run(argv, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=30)
    if done.returncode == 0:
        return done.stdout or "no words, and success"
    raise OSError(errno.EACCES, done.stderr.strip()[:300])


def control(about):
    """What the tries below are held against: the program starts here, the scheduler is in reach, and a token opens."""
    return glim(about, "queue", env={"GLIM_CA": about["authority"], "GLIM_TOKEN_FILE": about["token"]})


@attempt
def list_jobs_of_the_cluster(about):
    return glim(about, "queue", env={"GLIM_CA": about["authority"]})


@attempt
def cancel_anothers_job(about):
    return glim(about, "cancel", str(about["job"]), env={"GLIM_CA": about["authority"]})


@attempt
def act_by_a_token_of_its_own_making(about):
    """A task's own socket, files and variables have none of its user's."""
    path = os.path.join(os.getcwd(), "token")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write("glim_0123456789abcdef_" + "0" * 64)
    return glim(about, "cancel", str(about["job"]), env={"GLIM_CA": about["authority"], "GLIM_TOKEN_FILE": path})


@attempt
def speak_without_tls(about):
    return glim(about, "--insecure-without-identity", "--as", about["user"], "cancel", str(about["job"]))


@attempt
def read_anothers_log(about):
    return glim(about, "logs", str(about["job"]), env={"GLIM_CA": about["authority"]})


@attempt
def be_a_node(about):
    """The agents' port takes nobody without a certificate of the cluster."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    host, port = about["agents_server"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as plain, context.wrap_socket(plain) as tls:
        tls.settimeout(10)
        tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + struct.pack(">IBI", 0x00000004, 0, 0)[1:])
        return tls.recv(9) and "an answer"


@attempt
def write_to_the_schedulers_sockets(about):
    def connect(path):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.connect(path)
            return "connected"

    return any_of(about["control_sockets"], connect)


# ---- more than its share


@attempt
def have_no_bounds(about):
    """What nothing bounds of memory, processes, cores and shared memory."""
    unbounded = {}
    limits = {line[:25].strip(): line[25:].split() for line in read("/proc/self/limits").splitlines()[1:]}
    if limits["Max core file size"][1] != "0":
        unbounded["core"] = limits["Max core file size"]
    if limits["Max open files"][1] == "unlimited":
        unbounded["files"] = limits["Max open files"]
    shm = os.statvfs("/dev/shm")
    if shm.f_blocks * shm.f_frsize > about["memory_bytes"]:
        unbounded["shm"] = shm.f_blocks * shm.f_frsize
    return unbounded or None


def main():
    with open(sys.argv[1]) as file:
        about = json.load(file)
    for function in [control, *TRIES]:
        told = {"try": function.__name__, "got": None, "why": "nothing is there"}
        try:
            got = function(about)
            told["got"] = str(got)[:500] if got else None
        except (OSError, subprocess.SubprocessError) as error:
            told["why"] = f"{type(error).__name__}: {error}"
        print(json.dumps(told), flush=True)
    print(json.dumps({"try": "over", "got": None, "why": str(len(TRIES))}), flush=True)


if __name__ == "__main__":
    main()
