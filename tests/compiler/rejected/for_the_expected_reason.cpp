// expect: the size of int is two
#if defined(BROKEN_BEFORE)
#error something else is wrong
#elif defined(BROKEN_BESIDE_THE_TEXT)
const int number = undeclared("the size of int is two");
#elif !defined(CORRECTED)
static_assert(sizeof(int) == 2, "the size of int is two");
#endif
