// A test that never ends, with a process that it left behind: for the test of watch.
#include <unistd.h>

#include <cstdio>

namespace {

void wait_for_ever() {
  for (;;) ::pause();
}

}  // namespace

int main() {
  std::puts("[ RUN      ] Suite.Hangs");
  std::fflush(stdout);
  if (::fork() == 0) {
    if (::fork() == 0) wait_for_ever();
    return 0;
  }
  wait_for_ever();
}
