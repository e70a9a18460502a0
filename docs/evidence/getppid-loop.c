/* The hand-written loop that oscost is held against: batches of N getppid on CPU 1, the median of
 * each eighth of R batches, in ns per call.
 *
 *   cc -O2 docs/evidence/getppid-loop.c -o /tmp/getppid-loop
 *   /tmp/getppid-loop 122 300000      batches as long as oscost's
 *   /tmp/getppid-loop 10000 4000      batches as long as such loops usually are
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int calls = atoi(argv[1]), batches = atoi(argv[2]);
    double *ns = malloc(batches * sizeof *ns);
    if (!ns || calls < 1 || batches < 8) return 2;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(1, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int batch = 0; batch < batches; batch++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int call = 0; call < calls; call++) getppid();
        clock_gettime(CLOCK_MONOTONIC, &to);
        ns[batch] = ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / calls;
    }
    for (int part = 0, size = batches / 8; part < 8; part++) {
        qsort(ns + part * size, size, sizeof *ns, ascending);
        printf("%.2f ", ns[part * size + size / 2]);
    }
    printf("\n");
    return 0;
}
