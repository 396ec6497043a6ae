// The wall clock of one daemon of a fault run: preloaded, it shifts what the program takes for the time of day by as many
// milliseconds as the file $CLOCK_SHIFT_FILE holds (8 bytes, in the machine's order), which may change at any moment.
// Waits until a time of day end by the shifted clock, and notice its jumps as they do with the kernel's: gRPC waits so,
// by the system call itself, which faketime leaves to the real clock. Clocks that are not set are left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL
#define SLICE_NS (50 * NS_PER_MS)  // how late a waiting thread notices a jump

typedef long (*SyscallFn)(long, ...);
typedef int (*GettimeFn)(clockid_t, struct timespec*);
typedef int (*WaitFn)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
typedef int (*SemFn)(sem_t*, const struct timespec*);

static const volatile int64_t* shift;
static SyscallFn real_syscall;
static GettimeFn real_gettime;
static WaitFn real_wait;
static SemFn real_sem;

static void Begin(void) {
  if (real_gettime) return;
  real_syscall = (SyscallFn)dlsym(RTLD_NEXT, "syscall");
  real_wait = (WaitFn)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  real_sem = (SemFn)dlsym(RTLD_NEXT, "sem_timedwait");
  const char* path = getenv("CLOCK_SHIFT_FILE");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file >= 0) {
    void* page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) shift = page;
    close(file);
  }
  real_gettime = (GettimeFn)dlsym(RTLD_NEXT, "clock_gettime");
}

__attribute__((constructor)) static void Load(void) { Begin(); }

static int64_t ToNs(const struct timespec* t) { return t->tv_sec * NS_PER_S + t->tv_nsec; }

static struct timespec FromNs(int64_t ns) {
  const struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};
  return t;
}

static int64_t RealNs(void) {
  struct timespec now;
  Begin();
  real_gettime(CLOCK_REALTIME, &now);
  return ToNs(&now);
}

static int64_t ShiftedNs(void) {
  const int64_t real = RealNs();
  return real + (shift ? *shift : 0) * NS_PER_MS;
}

int clock_gettime(clockid_t id, struct timespec* now) {
  Begin();
  const int result = real_gettime(id, now);
  if (result == 0 && shift && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    *now = FromNs(ToNs(now) + *shift * NS_PER_MS);
  }
  return result;
}

int gettimeofday(struct timeval* now, void* zone) {
  (void)zone;
  const int64_t ns = ShiftedNs();
  now->tv_sec = ns / NS_PER_S;
  now->tv_usec = ns % NS_PER_S / 1000;
  return 0;
}

time_t time(time_t* out) {
  const time_t now = ShiftedNs() / NS_PER_S;
  if (out) *out = now;
  return now;
}

// Until when to wait for now, by the real clock; false: `until` has passed.
static int NextSlice(const struct timespec* until, struct timespec* slice) {
  const int64_t left = ToNs(until) - ShiftedNs();
  if (left <= 0) return 0;
  *slice = FromNs(RealNs() + (left < SLICE_NS ? left : SLICE_NS));
  return 1;
}

// A condition that waits by another clock has a small number here: the seconds since the machine's start.
static int IsTimeOfDay(const struct timespec* until) { return until->tv_sec > 1000000000; }

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until) {
  struct timespec slice;
  Begin();
  if (!shift || !IsTimeOfDay(until)) return real_wait(condition, mutex, until);
  if (!NextSlice(until, &slice)) slice = FromNs(0);  // it still lets go of the mutex for a moment
  const int result = real_wait(condition, mutex, &slice);
  return result == ETIMEDOUT && ToNs(until) > ShiftedNs() ? 0 : result;  // awake for no reason, as any may be
}

int sem_timedwait(sem_t* semaphore, const struct timespec* until) {
  struct timespec slice;
  Begin();
  if (!shift) return real_sem(semaphore, until);
  for (;;) {
    const int more = NextSlice(until, &slice);
    if (!more) slice = FromNs(0);
    const int result = real_sem(semaphore, &slice);
    if (result == 0 || errno != ETIMEDOUT || !more) return result;
  }
}

long syscall(long number, ...) {
  long a[6];
  va_list words;
  va_start(words, number);
  for (int i = 0; i < 6; ++i) a[i] = va_arg(words, long);
  va_end(words);
  Begin();
  const int waits = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  if (!shift || !waits || !(a[1] & FUTEX_CLOCK_REALTIME) || a[3] == 0) {
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  struct timespec slice;
  const struct timespec* until = (const struct timespec*)a[3];
  if (!NextSlice(until, &slice)) slice = FromNs(0);
  const long result = real_syscall(number, a[0], a[1], a[2], (long)&slice, a[4], a[5]);
  if (result == -1 && errno == ETIMEDOUT && ToNs(until) > ShiftedNs()) errno = EINTR;  // who waits goes on waiting
  return result;
}
