/* Sets the clock of a program that is started with this in LD_PRELOAD: the file that SET_CLOCK names holds the
   seconds, a 64-bit number, by which it is ahead. The file is shared, so the clock can be set while it runs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;

static void open_file(void) {
  const char *name = getenv("SET_CLOCK");
  int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *shared = mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (shared != MAP_FAILED) ahead = shared;
}

int clock_gettime(clockid_t clock, struct timespec *told) {
  int failed = syscall(SYS_clock_gettime, clock, told);
  if (!ahead) open_file();
  if (!failed && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) told->tv_sec += *ahead;
  return failed;
}

int gettimeofday(struct timeval *restrict told, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  told->tv_sec = now.tv_sec;
  told->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *told) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  if (told) *told = now.tv_sec;
  return now.tv_sec;
}
