/* A library that is loaded before others: a thread must answer each getppid, and caller and thread wait for each other actively, as
 * in a sandbox whose kernel waits for calls on a CPU of its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How many looks without a request end the active wait: some 20 ms. */
#define LOOKS 20000000L

static atomic_ulong requests, answers;

static void *answer(void *unused) {
    (void)unused;
    const struct timespec rest = {0, 1000000};
    long looks = LOOKS;
    for (;;) {
        unsigned long request = atomic_load(&requests);
        if (request != atomic_load(&answers)) {
            atomic_store(&answers, request);
            looks = 0;
            /* A caller on this CPU goes on. */
            sched_yield();
        } else if (looks < LOOKS) {
            looks++;
        } else {
            nanosleep(&rest, 0);
        }
    }
    return 0;
}

/* The thread begins before the process pins itself, so that it may run on all CPUs of the system. */
__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    pthread_create(&thread, 0, answer, 0);
}

pid_t getppid(void) {
    pid_t parent = (pid_t)syscall(SYS_getppid);
    unsigned long request = atomic_fetch_add(&requests, 1) + 1;
    while (atomic_load(&answers) < request)
        ;
    return parent;
}
