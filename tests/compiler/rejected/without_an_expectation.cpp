static_assert(sizeof(int) == 2, "the size of int is two");
