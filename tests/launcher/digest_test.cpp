// Digests, compared with published test vectors.
#include "runner/launcher/exchange/digest.hpp"

#include <gtest/gtest.h>

namespace ddpprof::launcher {
namespace {

TEST(Sha256, OfFips180) {
  Sha256 abc;
  abc.add("a");
  abc.add("");
  abc.add("bc");
  EXPECT_EQ(abc.digits(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().digits(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Hmac, OfRfc4231) {
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

TEST(Texts, AreComparedWhole) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_in_constant_time("", "a"));
}

TEST(RandomDigits, AreAsManyAsAskedAndDiffer) {
  EXPECT_EQ(random_digits(32).size(), 64U);
  EXPECT_NE(random_digits(32), random_digits(32));
}

}  // namespace
}  // namespace ddpprof::launcher
