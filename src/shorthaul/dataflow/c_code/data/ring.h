/* Ring buffers with one writer and several readers; every token is stored once. */
#ifndef RING_H
#define RING_H

#include <pthread.h>
#include <stddef.h>

struct ring {
  const char *name;
  size_t bytes;                            /* of one token */
  long delay;                              /* tokens that are there initially */
  long planned;                            /* places, by the plan */
  int readers;
  void (*initial)(long token, void *place); /* fills an initial token; 0: there is none */
  long capacity;
  long written;
  long *taken; /* by every reader */
  unsigned char *places;
  pthread_mutex_t lock;
  pthread_cond_t changed;
};

/* How many tokens went through an access, and a digest of them in their order. */
struct tally {
  unsigned long long tokens, digest;
};

/* Whether tallies are kept. Set before threads start. */
extern int tallying;

/* Seconds that this thread has waited for tokens and places. */
extern _Thread_local double waited;

double seconds(void);
void ring_open(struct ring *ring, long capacity);

/* The place of the next token; waits until it is free. */
void *ring_place(struct ring *ring);
/* The token at that place is complete. */
void ring_put(struct ring *ring, struct tally *tally);
/* The next token of a reader; waits until it is there. */
const void *ring_token(struct ring *ring, int reader, struct tally *tally);
/* The reader needs that token no more. */
void ring_leave(struct ring *ring, int reader);

/* A token copied from a ring, or into one. */
void ring_read(struct ring *ring, int reader, void *copy, struct tally *tally);
void ring_write(struct ring *ring, const void *copy, struct tally *tally);

#endif
