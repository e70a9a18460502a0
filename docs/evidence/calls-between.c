/* What other system calls before each batch do to the time of the measured one: batches of 60
 * clock_gettime by system call on CPU 1, 2,000 of them in turn with and without five getppid before
 * each. Prints the medians in ns per call, of as many turns as asked.
 *
 *   cc -O2 docs/evidence/calls-between.c -o /tmp/calls-between
 *   /tmp/calls-between 8
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 60, BATCHES = 2000 };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ns(int before) {
    static double ns[BATCHES];
    struct timespec from, to, got;
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int call = 0; call < before; call++) getppid();
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int call = 0; call < CALLS; call++) syscall(SYS_clock_gettime, CLOCK_REALTIME, &got);
        clock_gettime(CLOCK_MONOTONIC, &to);
        ns[batch] = ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / CALLS;
    }
    qsort(ns, BATCHES, sizeof *ns, ascending);
    return ns[BATCHES / 2];
}

int main(int argc, char **argv) {
    int turns = argc == 2 ? atoi(argv[1]) : 8;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(1, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int turn = 0; turn < turns; turn++)
        printf("without %.1f  with %.1f\n", median_ns(0), median_ns(5));
    return 0;
}
