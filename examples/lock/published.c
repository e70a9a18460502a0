/* cc -O2 -pthread -o published examples/lock/published.c && ./published semop 2 200000
 *
 * The published test of locks as the study `locks` repeats it: each of n threads acquires and releases a lock so many times, with a
 * loop of 100 iterations inside, whose result is used so that the compiler does not remove it. Prints the time in ns in which
 * a thread does that once, until all are done. Arguments: semop or sem, the number of threads, and the number of pairs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <time.h>

#include "../work.h"

enum { THREADS_AT_MOST = 64, ITERATIONS = 100 };

static pthread_barrier_t start;
static sem_t *shared;
static int set, with_semop;
static long pairs;

static void acquire(void)
{
    struct sembuf both[] = {{0, 0, SEM_UNDO}, {1, 0, SEM_UNDO}, {0, 1, SEM_UNDO}};
    check((with_semop ? semop(set, both, 3) : sem_wait(shared)) != 0, "acquire");
}

static void release(void)
{
    struct sembuf less = {0, -1, SEM_UNDO};
    check((with_semop ? semop(set, &less, 1) : sem_post(shared)) != 0, "release");
}

static void loop(void)
{
    uint32_t x = 1;
    __asm__ volatile("" : "+r"(x));
    for (uint32_t step = 0; step < ITERATIONS; step++)
        x = x * 31 ^ step;
    __asm__ volatile("" : : "r"(x));
}

static void *repeat(void *argument)
{
    (void)argument;
    pthread_barrier_wait(&start);
    for (long pair = 0; pair < pairs; pair++) {
        acquire();
        loop();
        release();
    }
    return NULL;
}

int main(int count, char **arguments)
{
    check(count != 4, "three arguments are needed: semop or sem, threads, pairs");
    with_semop = strcmp(arguments[1], "semop") == 0;
    int threads = atoi(arguments[2]);
    pairs = atol(arguments[3]);
    check(threads < 1 || threads > THREADS_AT_MOST || pairs < 1, "1 to 64 threads and a pair or more");
    set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
    check(set < 0, "semget");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared == MAP_FAILED || sem_init(shared, 1, 1) != 0, "sem_init");
    pthread_barrier_init(&start, NULL, threads + 1);
    pthread_t all[THREADS_AT_MOST];
    for (int at = 0; at < threads; at++)
        check(pthread_create(&all[at], NULL, repeat, NULL) != 0, "pthread_create");
    pthread_barrier_wait(&start);
    uint64_t began = now();
    for (int at = 0; at < threads; at++)
        pthread_join(all[at], NULL);
    printf("%.1f\n", (now() - began) / (double)pairs);
    semctl(set, 0, IPC_RMID);
    return 0;
}
