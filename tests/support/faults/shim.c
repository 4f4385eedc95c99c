/* A library to preload that lets one file operation of a process go wrong, chosen by its number.

   It counts every change to files below one folder (opening for writing, writing, renaming, removing, making folders)
   and strikes at change number `target`: the process dies before it or in the middle of it, the disk is full, the file
   system is read-only, or the wall clock jumps. Large allocations are counted too, and can fail from a chosen one on.
   Nothing happens until `fault_arm` is called. System calls are made directly, so that Python, Rust and C++ code in the
   process are all seen alike. Linux with the GNU C library only. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum mode { OFF, COUNT, KILL_BEFORE, KILL_AMID, FULL_DISK, READ_ONLY, CLOCK, MEMORY };
enum change { WRITING, MAKING, OTHER };
#define AMID (-1)
#define LARGE 2048 /* bytes; smaller allocations always succeed */

static char watched[PATH_MAX];
static enum mode mode = OFF;
static long target, span, clock_jump;
static atomic_long seen, allocations, clock_shift;

/* Strike at change `at`; failures of disk and file system last for `lasting` changes, a clock jumps by `seconds`. */
void fault_arm(int kind, long at, long lasting, long seconds, const char *folder)
{
    snprintf(watched, sizeof watched, "%s", folder);
    target = at, span = lasting, clock_jump = seconds;
    atomic_store(&seen, 0);
    atomic_store(&allocations, 0);
    mode = (enum mode)kind;
}

long fault_seen(void) { return atomic_load(&seen); }
long fault_allocations(void) { return atomic_load(&allocations); }

static void die(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* What becomes of a change to `path`: 0 it happens, AMID it happens in part and the process dies, else it fails. */
static int fate(const char *path, enum change change)
{
    if (mode == OFF || strncmp(path, watched, strlen(watched)) != 0) return 0;
    long number = atomic_fetch_add(&seen, 1) + 1;
    if (mode == COUNT || mode == MEMORY || number < target || number - target >= span) return 0;
    switch (mode) {
    case KILL_BEFORE: die(); return AMID;
    case KILL_AMID: return AMID;
    case FULL_DISK: return change == OTHER ? 0 : ENOSPC; /* what takes no room works on a full disk */
    case READ_ONLY: return EROFS;
    case CLOCK: atomic_store(&clock_shift, clock_jump); return 0;
    default: return 0;
    }
}

static int fate_of_descriptor(int descriptor, enum change change)
{
    char link[64], path[PATH_MAX];
    if (mode == OFF) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fate(path, change);
}

static int fate_at(int folder, const char *path, enum change change)
{
    return path[0] == '/' || folder == AT_FDCWD ? fate(path, change) : fate_of_descriptor(folder, change);
}

#define FAIL_OR(strike, call)                                                                                          \
    do {                                                                                                               \
        int strike_ = (strike);                                                                                        \
        if (strike_ > 0) { errno = strike_; return -1; }                                                               \
        long done_ = (call);                                                                                           \
        if (strike_ == AMID) die();                                                                                    \
        return done_;                                                                                                  \
    } while (0)

#define HALF_OR(strike, half, whole)                                                                                   \
    do {                                                                                                               \
        int strike_ = (strike);                                                                                        \
        if (strike_ > 0) { errno = strike_; return -1; }                                                               \
        if (strike_ == AMID) { (void)!(half); die(); }                                                                 \
        return (whole);                                                                                                \
    } while (0)

ssize_t write(int file, const void *bytes, size_t size)
{
    HALF_OR(fate_of_descriptor(file, WRITING), syscall(SYS_write, file, bytes, size / 2),
            syscall(SYS_write, file, bytes, size));
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset)
{
    HALF_OR(fate_of_descriptor(file, WRITING), syscall(SYS_pwrite64, file, bytes, size / 2, offset),
            syscall(SYS_pwrite64, file, bytes, size, offset));
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    HALF_OR(fate_of_descriptor(file, WRITING), syscall(SYS_writev, file, parts, count / 2),
            syscall(SYS_writev, file, parts, count));
}

int ftruncate64(int file, off64_t size)
{
    FAIL_OR(fate_of_descriptor(file, OTHER), syscall(SYS_ftruncate, file, size));
}

static int open_at(int folder, const char *path, int flags, mode_t permissions)
{
    int writes = (flags & O_ACCMODE) != O_RDONLY;
    FAIL_OR(writes ? fate_at(folder, path, OTHER) : 0, syscall(SYS_openat, folder, path, flags, permissions));
}

#define OPTIONAL_PERMISSIONS(permissions)                                                                              \
    mode_t permissions = 0;                                                                                            \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        permissions = va_arg(rest, mode_t);                                                                            \
        va_end(rest);                                                                                                  \
    }

int open(const char *path, int flags, ...) { OPTIONAL_PERMISSIONS(p) return open_at(AT_FDCWD, path, flags, p); }
int open64(const char *path, int flags, ...) { OPTIONAL_PERMISSIONS(p) return open_at(AT_FDCWD, path, flags, p); }
int openat(int at, const char *path, int flags, ...) { OPTIONAL_PERMISSIONS(p) return open_at(at, path, flags, p); }
int openat64(int at, const char *path, int flags, ...) { OPTIONAL_PERMISSIONS(p) return open_at(at, path, flags, p); }

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags)
{
    FAIL_OR(fate_at(to_folder, to, OTHER), syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return renameat2(from_folder, from, to_folder, to, 0);
}

int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *path, int flags)
{
    FAIL_OR(fate_at(folder, path, OTHER), syscall(SYS_unlinkat, folder, path, flags));
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t permissions)
{
    FAIL_OR(fate_at(folder, path, MAKING), syscall(SYS_mkdirat, folder, path, permissions));
}

int mkdir(const char *path, mode_t permissions) { return mkdirat(AT_FDCWD, path, permissions); }

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int no_memory(size_t size)
{
    if ((mode != COUNT && mode != MEMORY) || size < LARGE) return 0;
    long number = atomic_fetch_add(&allocations, 1) + 1;
    if (mode == COUNT || number < target || number - target >= span) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return no_memory(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return no_memory(count * size) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return no_memory(size) ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return no_memory(size) ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **made, size_t alignment, size_t size)
{
    if (no_memory(size)) return ENOMEM;
    *made = __libc_memalign(alignment, size);
    return *made ? 0 : ENOMEM;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += atomic_load(&clock_shift);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec, now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}
