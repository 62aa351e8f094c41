// expect: the size of int is two
static_assert(sizeof(int) == 2, "the size of int is two");  // rejected here
#ifdef CORRECTED
#define EXPECTED sizeof(int)
#else
#define EXPECTED 2
#endif
static_assert(sizeof(int) == EXPECTED, "the size of int is two");  // rejected here
