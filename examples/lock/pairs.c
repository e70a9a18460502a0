/* cc -O2 -pthread -o pairs examples/lock/pairs.c && ./pairs mutex 1 9000 1000
 *
 * The published test of locks: each of n threads acquires a lock, works, and releases it. Prints the time in ns in which a thread
 * does that once. Arguments: mutex or semop, the number of threads, the work in ns, and the length of the measurement in ms. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>

#include "../work.h"

enum { THREADS_AT_MOST = 64 };

static volatile int stopped;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static int set, with_semop;
static uint64_t turns;
static cpu_set_t allowed;
static double per_pair[THREADS_AT_MOST];

static void operate(struct sembuf *operations, size_t count)
{
    while (semop(set, operations, count) != 0)
        check(errno != EINTR, "semop");
}

static void acquire(void)
{
    struct sembuf both[] = {{0, 0, SEM_UNDO}, {1, 0, SEM_UNDO}, {0, 1, SEM_UNDO}};
    if (with_semop)
        operate(both, 3);
    else
        pthread_mutex_lock(&mutex);
}

static void release(void)
{
    struct sembuf less = {0, -1, SEM_UNDO};
    if (with_semop)
        operate(&less, 1);
    else
        pthread_mutex_unlock(&mutex);
}

/* Keeps the thread on the last allowed CPU but `number`, as oscost does with place=spread. */
static void pin(int number)
{
    int skip = number % CPU_COUNT(&allowed);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static void *repeat(void *argument)
{
    int number = (int)(intptr_t)argument;
    uint64_t pairs = 0;
    pin(number);
    pthread_barrier_wait(&start);
    uint64_t began = now();
    do {
        acquire();
        work(turns);
        release();
        pairs++;
    } while (!stopped);
    per_pair[number] = pairs / (double)(now() - began);
    return NULL;
}

int main(int count, char **arguments)
{
    if (count != 5 || atoi(arguments[2]) < 1 || atoi(arguments[2]) > THREADS_AT_MOST) {
        fprintf(stderr, "usage: pairs mutex|semop THREADS WORK_NS LENGTH_MS\n");
        return 2;
    }
    int threads = atoi(arguments[2]);
    long length = atol(arguments[4]);
    with_semop = strcmp(arguments[1], "semop") == 0;
    if (with_semop) {
        set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
        check(set < 0, "semget");
    }
    check(sched_getaffinity(0, sizeof allowed, &allowed), "sched_getaffinity");
    pin(0);
    turns = (uint64_t)(atof(arguments[3]) / ns_per_turn() + 0.5);
    sched_setaffinity(0, sizeof allowed, &allowed);
    pthread_barrier_init(&start, NULL, threads + 1);
    pthread_t all[THREADS_AT_MOST];
    for (int i = 0; i < threads; i++)
        check((errno = pthread_create(&all[i], NULL, repeat, (void *)(intptr_t)i)), "thread");
    pthread_barrier_wait(&start);
    struct timespec pause = {length / 1000, length % 1000 * 1000000};
    nanosleep(&pause, NULL);
    stopped = 1;
    double rate = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i], NULL);
        rate += per_pair[i];
    }
    if (with_semop)
        semctl(set, 0, IPC_RMID);
    printf("%.3f\n", threads / rate);
    return 0;
}
