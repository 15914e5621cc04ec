/* The driver: check compares the cores with all actors in turn, run measures them. */
#define _POSIX_C_SOURCE 200809L
#include "network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long iterations = 16;

static void *on_core(void *given) {
  struct core *core = given;
  waited = 0;
  core->run(iterations);
  core->waited = waited;
  return NULL;
}

static void on_cores(void) {
  pthread_t threads[CORES];
  for (int at = 0; at < CORES; at++) {
    int failed = pthread_create(&threads[at], NULL, on_core, &cores[at]);
    if (failed) {
      fprintf(stderr, "core %s: no thread: %s\n", cores[at].name, strerror(failed));
      exit(2);
    }
  }
  for (int at = 0; at < CORES; at++) pthread_join(threads[at], NULL);
}

static void open_all(int by_plan) {
  for (int at = 0; at < RINGS; at++) ring_open(&rings[at], by_plan ? rings[at].planned : rings[at].delay + 1);
}

/* The tallies of all actors in turn, made in a process of its own: functions may keep a state. */
static void tallies_in_turn(struct tally *found) {
  int ends[2];
  pid_t child = pipe(ends) ? -1 : fork();
  if (child < 0) {
    perror("no second process");
    exit(2);
  }
  if (child == 0) {
    open_all(0);
    in_turn(iterations);
    fflush(NULL);
    for (size_t sent = 0; sent < sizeof tallies;) {
      ssize_t more = write(ends[1], (const char *)tallies + sent, sizeof tallies - sent);
      if (more <= 0) _exit(2);
      sent += (size_t)more;
    }
    _exit(0);
  }
  close(ends[1]);
  size_t got = 0;
  for (ssize_t more; got < sizeof tallies; got += (size_t)more) {
    more = read(ends[0], (char *)found + got, sizeof tallies - got);
    if (more <= 0) break;
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got < sizeof tallies || status != 0) {
    fprintf(stderr, "the actors in turn ended with status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : status);
    exit(2);
  }
}

static int check(void) {
  static struct tally wanted[ACCESSES + 1];
  unsigned long long tokens = 0;
  int wrong = 0;
  tallying = 1;
  tallies_in_turn(wanted);
  open_all(1);
  on_cores();
  for (int at = 0; at < ACCESSES; at++) {
    tokens += tallies[at].tokens;
    if (tallies[at].tokens == wanted[at].tokens && tallies[at].digest == wanted[at].digest) continue;
    wrong++;
    printf("%s: %llu tokens with digest %016llx, in turn %llu with %016llx\n", access_names[at], tallies[at].tokens,
           tallies[at].digest, wanted[at].tokens, wanted[at].digest);
  }
  printf("%ld iterations on %d cores: %llu tokens through %d accesses, %d wrong\n", iterations, CORES, tokens, ACCESSES,
         wrong);
  return wrong > 0;
}

static int run(void) {
  open_all(1);
  double begun = seconds();
  on_cores();
  double passed = seconds() - begun;
  for (int at = 0; at < CORES; at++)
    printf("core %s: %.9f s of an iteration busy\n", cores[at].name, (passed - cores[at].waited) / (double)iterations);
  printf("%ld iterations on %d cores: %.9f s each (planned: %.9f s)\n", iterations, CORES, passed / (double)iterations,
         PLANNED_S);
  return 0;
}

int main(int count, char **words) {
  const char *verb = count > 1 ? words[1] : "check";
  int known = strcmp(verb, "check") == 0 || strcmp(verb, "run") == 0;
  char *rest = NULL;
  errno = 0;
  if (count > 2) iterations = strtol(words[2], &rest, 10);
  if (count > 3 || !known || iterations < 1 || errno || (rest != NULL && (*rest != '\0' || rest == words[2]))) {
    fprintf(stderr, "usage: %s [check|run] [ITERATIONS, from 1 on; 16 without]\n", words[0]);
    return 2;
  }
  return strcmp(verb, "check") == 0 ? check() : run();
}
