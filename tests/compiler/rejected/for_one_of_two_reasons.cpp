// expect: the size of int is two
// expect: the size of char is two
static_assert(sizeof(int) == 2, "the size of int is two");
