/* Runs a command whose system calls are slow, as those of a sandbox whose kernel is another process, until a process has called
 * getppid for 50 ms.
 *
 *     traced COMMAND...
 */
#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOW_NS 50000000LL
#define PROCESSES 4194304

/* When a process called getppid first, by its pid. */
static int64_t first[PROCESSES];

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long trace(long request, pid_t pid, void *address, void *data) {
    return syscall(SYS_ptrace, request, (long)pid, address, data);
}

/* Whether the stopped process enters getppid. */
static int enters_getppid(pid_t pid) {
    struct ptrace_syscall_info info;
    memset(&info, 0, sizeof info);
    long got = trace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info);
    return got > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_getppid;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    pid_t root = fork();
    if (root == 0) {
        trace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int status;
    if (root < 0 || waitpid(root, &status, 0) != root || !WIFSTOPPED(status))
        return 1;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    trace(PTRACE_SETOPTIONS, root, 0, (void *)options);
    trace(PTRACE_SYSCALL, root, 0, 0);
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0)
            return errno == ECHILD ? 0 : 1;
        if (pid == root && WIFEXITED(status))
            return WEXITSTATUS(status);
        if (pid == root && WIFSIGNALED(status))
            return 1;
        if (!WIFSTOPPED(status))
            continue;
        int sig = WSTOPSIG(status);
        long next = PTRACE_SYSCALL;
        if (sig == (SIGTRAP | 0x80)) {
            if (pid < PROCESSES && enters_getppid(pid)) {
                int64_t at = now();
                if (first[pid] == 0)
                    first[pid] = at;
                else if (at - first[pid] > SLOW_NS) {
                    first[pid] = 0;
                    next = PTRACE_DETACH;
                }
            }
            sig = 0;
        } else if (sig == SIGTRAP || (sig == SIGSTOP && status >> 16 == 0)) {
            /* An event of a process, or the stop with which a traced child begins. */
            sig = 0;
        }
        trace(next, pid, 0, (void *)(long)sig);
    }
}
