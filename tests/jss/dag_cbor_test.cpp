// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/dag_cbor.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/text_coding.hpp"
#include "dag_cbor_reference.hpp"
#include "jss/dag_cbor_encode.hpp"
#include "jss/dag_cbor_walk.hpp"
#include "tests/support.hpp"

namespace varve::jss {
namespace {

base::Bytes hex(std::string_view text) {
  auto bytes = base::from_hex(text);
  EXPECT_TRUE(bytes) << text;
  return bytes.value_or(base::Bytes{});
}

// The JSON of a payload, or the word of the fault. Checks the two decoders against each other.
std::string json_of(base::ByteSpan payload) {
  std::string out = "before";
  const auto fault = append_dag_cbor_json(out, payload);
  EXPECT_EQ(check_dag_cbor(payload), fault);
  const auto reference = test::ReferenceDecoder::json(base::as_text(payload));
  EXPECT_EQ(fault.has_value(), !reference.has_value()) << base::to_hex(payload);
  if (fault) {
    EXPECT_EQ(out, "before") << "a refused payload leaves no trace";
    EXPECT_LE(fault->offset, payload.size());
    return fault->word;
  }
  EXPECT_EQ(out, "before" + reference.value_or(""));
  return out.substr(6);
}

std::string encoded(std::string_view json) {
  base::Bytes out;
  const char* wrong = encode_dag_cbor(json, out);
  return wrong != nullptr ? wrong : base::to_hex(out);
}

TEST(DagCbor, BothDirections) {
  struct Pair {
    std::string_view cbor;
    std::string_view json;
  };
  constexpr Pair k_pairs[] = {
      {"00", "0"},
      {"17", "23"},
      {"1818", "24"},
      {"18ff", "255"},
      {"190100", "256"},
      {"1a00010000", "65536"},
      {"1b0000000100000000", "4294967296"},
      {"1bffffffffffffffff", "18446744073709551615"},
      {"20", "-1"},
      {"37", "-24"},
      {"3818", "-25"},
      {"3b7fffffffffffffff", "-9223372036854775808"},
      {"3bffffffffffffffff", "-18446744073709551616"},
      {"f4", "false"},
      {"f5", "true"},
      {"f6", "null"},
      {"60", "\"\""},
      {"6161", "\"a\""},
      {"63e4b896", "\"\xe4\xb8\x96\""},
      {"40", "{\"$bytes\":\"\"}"},
      {"4101", "{\"$bytes\":\"AQ\"}"},
      {"43fffefd", "{\"$bytes\":\"//79\"}"},
      {"80", "[]"},
      {"83010203", "[1,2,3]"},
      {"818181f6", "[[[null]]]"},
      {"a0", "{}"},
      {"a161616162", "{\"a\":\"b\"}"},
      {"a261620162616102", "{\"b\":1,\"aa\":2}"},
      {"a165246c696e6b05", "{\"$link\":5}"},
      {"a265246c696e6b61786624627974657340", "{\"$link\":\"x\",\"$bytes\":{\"$bytes\":\"\"}}"},
      {"d82a582500017112200000000000000000000000000000000000000000000000000000000000000000",
       "{\"$link\":\"bafyreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"},
  };
  for (const auto& [cbor, json] : k_pairs) {
    EXPECT_EQ(json_of(hex(cbor)), json);
    EXPECT_EQ(encoded(json), cbor);
  }
}

TEST(DagCbor, EscapesText) {
  for (std::size_t before = 0; before < 20; ++before) {
    for (std::size_t after = 0; after < 20; ++after) {
      for (int c = 0; c < 0x80; ++c) {
        std::string text(before, 'x');
        text += static_cast<char>(c);
        text.append(after, 'y');
        base::Bytes payload;
        if (text.size() >= 24) payload.push_back(std::byte{0x78});
        payload.push_back(
            static_cast<std::byte>(text.size() >= 24 ? text.size() : 0x60 + text.size()));
        for (const char t : text) payload.push_back(static_cast<std::byte>(t));
        const std::string json = json_of(payload);
        ASSERT_EQ(encoded(json), base::to_hex(payload)) << json;
      }
    }
  }
}

TEST(DagCbor, LongTextIsWrittenInPieces) {
  for (const std::string_view unit : {"x", "\xf0\x9f\xa6\x8b", "\x01", "ab\"\xc3\xa4"}) {
    std::string text;
    while (text.size() < 70'000) {
      text += unit;
    }
    base::Bytes payload = hex("7a");
    payload.resize(5);
    base::store_be(payload.data() + 1, static_cast<std::uint32_t>(text.size()));
    if (text.size() > 65'535) {
      for (const char t : text) payload.push_back(static_cast<std::byte>(t));
      const std::string json = json_of(payload);
      base::Bytes again;
      EXPECT_EQ(encode_dag_cbor(json, again), nullptr);
      EXPECT_EQ(again, payload);
      payload.back() = std::byte{0xC3};  // a cut character
      EXPECT_EQ(json_of(payload), k_cbor_utf8);
    }
  }
}

TEST(DagCbor, RefusesWhatIsNotStrict) {
  EXPECT_EQ(json_of({}), k_cbor_truncated);
  EXPECT_EQ(json_of(hex("1817")), k_cbor_not_minimal);
  EXPECT_EQ(json_of(hex("1900ff")), k_cbor_not_minimal);
  EXPECT_EQ(json_of(hex("1a0000ffff")), k_cbor_not_minimal);
  EXPECT_EQ(json_of(hex("1b00000000ffffffff")), k_cbor_not_minimal);
  EXPECT_EQ(json_of(hex("780161")), k_cbor_not_minimal);
  EXPECT_EQ(json_of(hex("5f4101ff")), k_cbor_indefinite);
  EXPECT_EQ(json_of(hex("9f01ff")), k_cbor_indefinite);
  EXPECT_EQ(json_of(hex("bfff")), k_cbor_indefinite);
  EXPECT_EQ(json_of(hex("1c")), k_cbor_indefinite);
  EXPECT_EQ(json_of(hex("f7")), k_cbor_simple);
  EXPECT_EQ(json_of(hex("e0")), k_cbor_simple);
  EXPECT_EQ(json_of(hex("f8ff")), k_cbor_simple);
  EXPECT_EQ(json_of(hex("ff")), k_cbor_simple);
  EXPECT_EQ(json_of(hex("f93c00")), k_cbor_simple);
  EXPECT_EQ(json_of(hex("fb3ff0000000000000")), k_cbor_simple);
  EXPECT_EQ(json_of(hex("c000")), k_cbor_tag);
  EXPECT_EQ(json_of(hex("d82a00")), k_cbor_link);
  EXPECT_EQ(json_of(hex("d82a40")), k_cbor_link);
  EXPECT_EQ(json_of(hex("d82a4401711200")), k_cbor_link);  // no leading zero
  EXPECT_EQ(json_of(hex("d82a450001711200")), "{\"$link\":\"bafyreaa\"}");
  EXPECT_EQ(json_of(hex("d82a450002711200")), k_cbor_link);    // version 2
  EXPECT_EQ(json_of(hex("d82a450001711201")), k_cbor_link);    // digest shorter than stated
  EXPECT_EQ(json_of(hex("d82a46000181001200")), k_cbor_link);  // codec not minimal
  EXPECT_EQ(json_of(hex("a10102")), k_cbor_key);
  EXPECT_EQ(json_of(hex("a1416102")), k_cbor_key);
  EXPECT_EQ(json_of(hex("a262616101616202")), k_cbor_key_order);
  EXPECT_EQ(json_of(hex("a2616201616102")), k_cbor_key_order);
  EXPECT_EQ(json_of(hex("a2616101616102")), k_cbor_key_order);
  EXPECT_EQ(json_of(hex("61ff")), k_cbor_utf8);
  EXPECT_EQ(json_of(hex("63eda080")), k_cbor_utf8);
  EXPECT_EQ(json_of(hex("a161ff01")), k_cbor_utf8);
  EXPECT_EQ(json_of(hex("0000")), k_cbor_trailing);
  EXPECT_EQ(json_of(hex("8201")), k_cbor_truncated);
  EXPECT_EQ(json_of(hex("9bffffffffffffffff")), k_cbor_truncated);
  EXPECT_EQ(json_of(hex("bbffffffffffffffff")), k_cbor_truncated);
  EXPECT_EQ(json_of(hex("5bffffffffffffffff")), k_cbor_truncated);
  EXPECT_EQ(json_of(hex("a165246c696e6b6161")), k_cbor_ambiguous);
  EXPECT_EQ(json_of(hex("a166246279746573644151413d")), k_cbor_ambiguous);
}

TEST(DagCbor, DepthIsBounded) {
  for (const std::string_view open : {"81", "a16161"}) {
    std::string nested;
    for (int i = 0; i < 256; ++i) {
      nested += open;
    }
    const std::string json = json_of(hex(nested + "00"));
    EXPECT_EQ(encoded(json), nested + "00");
    EXPECT_EQ(json_of(hex(nested + std::string(open) + "00")), k_cbor_depth);
    EXPECT_EQ(encoded("[" + json + "]"), "nested too deeply");
  }
  EXPECT_EQ(json_of(base::Bytes(1 << 20, std::byte{0x81})), k_cbor_depth);
}

TEST(DagCborEncode, PutsKeysInOrderAndRefusesWhatHasNoForm) {
  EXPECT_EQ(encoded("{\"aa\":[{\"z\":1,\"y\":2}],\"b\":{}}"), "a26162a062616181a2617902617a01");
  EXPECT_EQ(encoded(" { \"a\" : -0 } "), "a1616100");
  EXPECT_EQ(encoded("{\"$bytes\":\"AQ==\"}"), "4101");
  EXPECT_EQ(encoded("{\"\\u0061\":1}"), "a1616101");
  EXPECT_EQ(encoded("1.0"), "a record has no floats");
  EXPECT_EQ(encoded("1e3"), "a record has no floats");
  EXPECT_EQ(encoded("18446744073709551616"), "an integer beyond 64 bits");
  EXPECT_EQ(encoded("-18446744073709551617"), "an integer beyond 64 bits");
  EXPECT_EQ(encoded("{\"a\":1,\"a\":2}"), "a repeated key");
  EXPECT_EQ(encoded("{\"a\":1,\"b\":2,\"a\":2}"), "a repeated key");
  EXPECT_EQ(encoded("{\"$link\":\"hello\"}"), "$link without a CID");
  EXPECT_EQ(encoded("{\"$bytes\":\"A\"}"), "$bytes without base64");
  for (const std::string_view bad :
       {"", "{", "[1,", "01", "--1", "nul", "truth", "{\"a\"}", "{\"a\":}", "[1 2]", "1,2", "\"",
        "\"\\ud800\"", "]", "1]", "[1]]", "{}{}", "\"\x01\""}) {
    EXPECT_EQ(encoded(bad), "malformed JSON") << bad;
  }
}

// Random payloads, most of them a valid one with a byte changed: the two decoders agree, and what
// is printed leads back to the same bytes.
TEST(DagCbor, AgreesWithTheReference) {
  std::mt19937 random(7);
  base::Bytes valid;
  ASSERT_EQ(
      encode_dag_cbor("{\"a\":\"\u00e4a\",\"z\":[-1,null,1000000],\"bad\":{\"x\":true},\"link\":"
                      "{\"$link\":\"bafyreie2kin6ic736ucsspe464wmp2oqbk2aqdsxfbcmij35u5kulxnthm\"},"
                      "\"other\":{\"$bytes\":\"3q2+7w\"}}",
                      valid),
      nullptr);
  EXPECT_NE(json_of(valid).find("bafyrei"), std::string::npos);
  unsigned accepted = 0;
  for (std::uint64_t round = varve::test::scaled(30'000); round > 0; --round) {
    base::Bytes payload = valid;
    for (unsigned changes = random() % 4; changes > 0; --changes) {
      payload[random() % payload.size()] = static_cast<std::byte>(random());
    }
    payload.resize(payload.size() - (random() % 3 == 0 ? random() % payload.size() : 0));
    const std::string json = json_of(payload);
    if (!json.starts_with("cbor-")) {
      ++accepted;
      ASSERT_EQ(encoded(json), base::to_hex(payload)) << json;
    }
  }
  EXPECT_GT(accepted, 60U);
}

TEST(AccountDeletion, NeedsBothMembers) {
  const auto is_deletion = [](std::string_view json) {
    base::Bytes payload;
    EXPECT_EQ(encode_dag_cbor(json, payload), nullptr);
    return is_account_deletion(payload);
  };
  EXPECT_TRUE(is_deletion("{\"did\":\"d\",\"active\":false,\"status\":\"deleted\",\"seq\":1}"));
  EXPECT_FALSE(is_deletion("{\"active\":true,\"status\":\"deleted\"}"));
  EXPECT_FALSE(is_deletion("{\"active\":false,\"status\":\"takendown\"}"));
  EXPECT_FALSE(is_deletion("{\"active\":false}"));
  EXPECT_FALSE(is_deletion("{\"status\":\"deleted\"}"));
  EXPECT_FALSE(is_deletion("{\"x\":{\"active\":false,\"status\":\"deleted\"}}"));
  EXPECT_FALSE(is_deletion("[false,\"deleted\"]"));
  EXPECT_FALSE(is_account_deletion({}));
  EXPECT_FALSE(is_account_deletion(base::Bytes(3, std::byte{0xFF})));
}

}  // namespace
}  // namespace varve::jss
