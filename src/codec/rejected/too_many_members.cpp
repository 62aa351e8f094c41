// expect: holdfast: the members of this type can't be found by reflection
#include <holdfast/codec.hpp>

struct Wide {
  int m1 = 0, m2 = 0, m3 = 0, m4 = 0, m5 = 0, m6 = 0, m7 = 0, m8 = 0, m9 = 0, m10 = 0, m11 = 0, m12 = 0,
      m13 = 0, m14 = 0, m15 = 0, m16 = 0, m17 = 0, m18 = 0, m19 = 0, m20 = 0, m21 = 0, m22 = 0, m23 = 0,
      m24 = 0, m25 = 0, m26 = 0, m27 = 0, m28 = 0, m29 = 0, m30 = 0, m31 = 0, m32 = 0, m33 = 0, m34 = 0,
      m35 = 0, m36 = 0, m37 = 0, m38 = 0, m39 = 0, m40 = 0, m41 = 0, m42 = 0, m43 = 0, m44 = 0, m45 = 0,
      m46 = 0, m47 = 0, m48 = 0, m49 = 0, m50 = 0, m51 = 0, m52 = 0, m53 = 0, m54 = 0, m55 = 0, m56 = 0,
      m57 = 0, m58 = 0, m59 = 0, m60 = 0, m61 = 0, m62 = 0, m63 = 0, m64 = 0, m65 = 0;
};

holdfast::Payload payload = holdfast::encode(Wide{});
