// SPDX-License-Identifier: MIT OR Apache-2.0
// HMS-TXN-2: the vectors of section 9, every rule of section 10.1; the outline of HMS-TXN-3; the
// envelope vector of section 10.
#include "arena/transaction.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "arena/encryption.hpp"
#include "arena/txn3.hpp"
#include "arena_support.hpp"

namespace varve::arena::test {
namespace {

std::string txn2(std::string_view json) { return std::string(k_txn2_magic) + std::string(json); }

// "ok", or the word and what of the refusal.
std::string outcome(std::string_view json, const PayloadRules& rules = {4096, true}) {
  std::vector<Mutation> mutations;
  const std::string payload = txn2(json);
  const auto fault = decode_transaction(base::as_bytes(payload), rules, mutations);
  return fault ? std::string(fault->word) + ": " + fault->what : "ok";
}

TEST(Transactions, VectorsOfSectionNine) {
  const std::string vector =
      txn2(R"([{"Vector":{"id":"v1","vector":{"dim":4096,"indices":[3,77,1024]}}}])");
  EXPECT_EQ(vector.size(), 78U);
  EXPECT_EQ(frame(vector, 0), hex("0a 7f 47 c7 4e 00 00 00 4b 00 00 00 00 00 00 00"
                                  "f5 13 48 4d 53 2d 54 58 4e 2d 32 00 5b 7b 22 56"
                                  "65 63 74 6f 72 22 3a 7b 22 69 64 22 3a 22 76 31"
                                  "22 2c 22 76 14 00 f0 14 64 69 6d 22 3a 34 30 39"
                                  "36 2c 22 69 6e 64 69 63 65 73 22 3a 5b 33 2c 37"
                                  "37 2c 31 30 32 34 5d 7d 7d 7d 5d"));
  const std::string deletion = txn2(R"([{"Delete":{"id":"v1"}}])");
  EXPECT_EQ(frame(deletion, 1), hex("7d 16 5a 3f 22 00 00 00 22 00 00 00 01 00 00 00"
                                    "48 4d 53 2d 54 58 4e 2d 32 00 5b 7b 22 44 65 6c"
                                    "65 74 65 22 3a 7b 22 69 64 22 3a 22 76 31 22 7d"
                                    "7d 5d"));
  std::vector<Mutation> mutations;
  ASSERT_FALSE(decode_transaction(base::as_bytes(vector), {4096, true}, mutations));
  ASSERT_EQ(mutations.size(), 1U);
  EXPECT_EQ(mutations[0].kind, MutationKind::vector);
  EXPECT_EQ(text_of(mutations[0].values[0]), "v1");
  EXPECT_EQ(vector_of(mutations[0].values[1]), (SparseVector{4096, {3, 77, 1024}}));
  std::string scratch;
  EXPECT_TRUE(is_canonical(base::as_bytes(vector), mutations, scratch));
}

TEST(Transactions, Forms) {
  const auto form = [](std::string_view text) { return form_of(base::as_bytes(text)); };
  EXPECT_EQ(form(hex("48 4d 53 2d 54 58 4e 2d 32 00")), TransactionForm::txn2);
  EXPECT_EQ(form(hex("48 4d 53 2d 54 58 4e 2d 33 00")), TransactionForm::txn3);
  EXPECT_EQ(form(std::string("HMS-TXN-4\0x", 11)), TransactionForm::other_txn);
  EXPECT_EQ(form(std::string("HMS-TXN-10\0", 11)), TransactionForm::other_txn);
  EXPECT_EQ(form("HMS-TXN-2"), TransactionForm::unknown);
  EXPECT_EQ(form(std::string("HMS-TXN-\0", 9)), TransactionForm::unknown);
  EXPECT_EQ(form("hello"), TransactionForm::unknown);
}

const std::string k_chunk =
    R"({"id":"hms:chunk:1:d:0","text":"abc","start_byte":0,"end_byte":3,)"
    R"("vector":{"dim":4096,"indices":[]},"embedding":[0.5,-1,2e3],"terms":{"abc":1},)"
    R"("word_count":1})";

std::string document(const std::string& chunks) {
  return R"([{"Document":{"id":"d","source_uri":null,"version":"1","metadata":{"a":[1,2.5]},)"
         R"("chunks":[)" +
         chunks + "]}}]";
}
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Transactions, EveryKindIsAcceptedAndCanonical) {
  const std::string rows[] = {
      R"([{"Vector":{"id":"v","vector":{"dim":4096,"indices":[0,4095]}}}])",
      R"([{"Atom":{"id":"a","vector":{"dim":4096,"indices":[]}}}])",
      R"([{"Composite":{"id":"c","vector":{"dim":4096,"indices":[1]}}}])",
      R"([{"StoredTriple":{"subject_id":"s","relation_id":"r","object_id":"o",)"
      R"("composite_id":"c","deleted":true}}])",
      document(k_chunk),
      R"([{"Derived":{"id":"v","children":["hms:meaning:1:v:0","hms:meaning:1:v:1"]}}])",
      R"([{"DeleteDocument":{"id":"d"}}])",
      R"([{"Delete":{"id":"v"}}])",
      R"([{"Triplet":{"id":"t","subject":"s","relation":"r","object":"o"}}])",
      R"([{"Relation":{"sourceId":"a","relationType":"b","targetId":"c","properties":"{}",)"
      R"("validFrom":1.5,"validTo":0}}])",
      R"([{"RemoveRelation":{"source":"a","relation":"b","target":"c"}}])",
      R"([{"RelationType":{"name":"n","transitive":true,"symmetric":false}}])",
      R"([{"Rule":{"name":"n","input_relations":["a","b"],"output_relation":"c"}}])",
  };
  std::string all = "[";
  std::size_t kind = 0;
  for (const std::string& row : rows) {
    EXPECT_EQ(outcome(row), "ok") << row;
    std::vector<Mutation> mutations;
    const std::string payload = txn2(row);
    ASSERT_FALSE(decode_transaction(base::as_bytes(payload), {4096, true}, mutations));
    EXPECT_EQ(static_cast<std::size_t>(mutations[0].kind), kind++);
    std::string scratch;
    EXPECT_TRUE(is_canonical(base::as_bytes(payload), mutations, scratch)) << scratch;
    all += row.substr(1, row.size() - 2) + ",";
  }
  EXPECT_EQ(kind, k_mutation_kinds);
  all.back() = ']';
  EXPECT_EQ(outcome(all), "ok");
}

TEST(Transactions, OtherSpellingsAreReadAndWrittenCanonically) {
  const std::string payload = txn2(
      " [ {\"Vector\" : {\"more\":[{}], \"vector\":{ \"indices\":[ 1 , 2 ],\"dim\":4096},"
      "\"id\":\"\\u0061\\ud83d\\ude00\"} } ]\n");
  std::vector<Mutation> mutations;
  ASSERT_FALSE(decode_transaction(base::as_bytes(payload), {4096, true}, mutations));
  EXPECT_EQ(text_of(mutations[0].values[0]), "a\xF0\x9F\x98\x80");
  std::string encoded;
  EXPECT_FALSE(is_canonical(base::as_bytes(payload), mutations, encoded));
  EXPECT_EQ(encoded, txn2("[{\"Vector\":{\"id\":\"\\u0061\\ud83d\\ude00\","
                          "\"vector\":{\"dim\":4096,\"indices\":[1,2]}}}]"));
}

TEST(Transactions, EveryRuleRefuses) {
  const auto doc = [](std::string_view from, std::string_view to) {
    return document(replaced(k_chunk, from, to));
  };
  const std::pair<std::string, const char*> rows[] = {
      {"", "bad-payload: not a JSON array of mutations"},
      {"[]", "bad-payload: no mutation"},
      {"{}", "bad-payload: not a JSON array of mutations"},
      {R"([{"Delete":{"id":"v"}}] x)", "bad-payload: bytes behind the array"},
      {R"([{"Delete":{"id":"v"}},])", "bad-payload: not a mutation object"},
      {"[{}]", "bad-payload: a mutation without a key"},
      {R"([{"Delete":{"id":"v"},"Atom":1}])", "bad-payload: a mutation with more than one key"},
      {R"([{"Encode":{"id":"v"}}])", "unsupported-payload: a mutation of an unknown kind"},
      {R"([{"Delete":{}}])", "bad-payload: a key is missing"},
      {R"([{"Delete":{"id":"v","id":"w"}}])", "bad-payload: a key twice"},
      {R"([{"Delete":{"id":7}}])", "bad-payload: not a string"},
      {R"([{"Delete":{"id":""}}])", "bad-payload: an id of no, of too many or of NUL bytes"},
      {R"([{"Delete":{"id":"\u0000"}}])", "bad-payload: an id of no, of too many or of NUL bytes"},
      {R"([{"Delete":{"id":")" + std::string(65536, 'x') + R"("}}])",
       "bad-payload: an id of no, of too many or of NUL bytes"},
      {R"([{"Atom":{"id":"a","vector":{"dim":4095,"indices":[]}}}])",
       "bad-payload: a vector of other dimensions than the store's"},
      {R"([{"Atom":{"id":"a","vector":{"dim":4096,"indices":[4096]}}}])",
       "bad-payload: an index outside the vector's dimensions"},
      {R"([{"Atom":{"id":"a","vector":{"dim":4096,"indices":[2,2]}}}])",
       "bad-payload: indices that do not ascend"},
      {R"([{"Atom":{"id":"a","vector":{"dim":4096,"indices":[1.0]}}}])",
       "bad-payload: not an unsigned integer"},
      {R"([{"Atom":{"id":"a","vector":{"dim":4096}}}])", "bad-payload: not a vector"},
      {R"([{"Relation":{"sourceId":"a","relationType":"b","targetId":"c","properties":null,)"
       R"("validFrom":-1,"validTo":0}}])",
       "bad-payload: a time that is negative or not finite"},
      {R"([{"Relation":{"sourceId":"a","relationType":"b","targetId":"c","properties":null,)"
       R"("validFrom":2,"validTo":1}}])",
       "bad-payload: validTo before validFrom"},
      {R"([{"Derived":{"id":"v","children":["x"]}}])",
       "bad-payload: a derived child whose id does not name its parent"},
      {document(""), "bad-payload: a document without chunks"},
      {doc("chunk:1:d:0", "chunk:1:e:0"),
       "bad-payload: a chunk whose id does not name its document"},
      {doc("abc\",\"start", "abcd\",\"start"),
       "bad-payload: a chunk whose text is not as long as its range"},
      {doc("\"end_byte\":3", "\"end_byte\":0"), "bad-payload: a chunk with an impossible range"},
      {doc("\"start_byte\":0,\"end_byte\":3", "\"start_byte\":0,\"end_byte\":65537"),
       "bad-payload: a chunk with an impossible range"},
      {doc("\"start_byte\":0,\"end_byte\":3", "\"start_byte\":8388606,\"end_byte\":8388609"),
       "bad-payload: a chunk with an impossible range"},
      {doc("[0.5,-1,2e3]", "[\"x\"]"), "bad-payload: not a number"},
      {doc("{\"abc\":1}", "{\"abc\":-1}"), "bad-payload: not an unsigned integer"},
      {doc(",\"word_count\":1", ""), "bad-payload: a key of a chunk is missing"},
      {"[{\"Delete\":{\"id\":\"\xff\"}}]", "bad-payload: not UTF-8"},
  };
  for (const auto& [json, expected] : rows) {
    EXPECT_EQ(outcome(json), expected) << json.substr(0, 200);
  }
  for (const char* meaning :
       {R"([{"Triplet":{"id":"t","subject":"s","relation":"r","object":"o"}}])",
        R"([{"Rule":{"name":"n","input_relations":[],"output_relation":"c"}}])"}) {
    EXPECT_EQ(outcome(meaning), "ok");
    EXPECT_EQ(outcome(meaning, {4096, false}),
              "bad-payload: a mutation that needs meaning_enabled");
  }
  std::string many = "[";
  for (int i = 0; i < 4097; ++i) {
    many += R"({"Delete":{"id":"v"}},)";
  }
  many.back() = ']';
  EXPECT_EQ(outcome(many), "bad-payload: more than 4096 mutations");
  EXPECT_EQ(outcome(std::string(100'000, '[')), "bad-payload: not a mutation object");
}

TEST(Txn3, OutlineOfJsonElements) {
  const std::string json = R"({"Delete":{"id":"v1"}})";
  std::string payload(k_txn3_magic);
  payload += "\x02";  // mutations
  payload +=
      "\x02\x01"
      "a"
      "\x02"
      "bc";  // two terms
  payload += std::string(1, '\0') + static_cast<char>(json.size()) + json;
  const std::string_view binary = "\x01rest";
  const auto outline = outline_txn3(base::as_bytes(payload + std::string(binary)), {});
  ASSERT_TRUE(outline.has_value());
  EXPECT_EQ(outline->mutations, 2U);
  EXPECT_EQ(outline->terms, 2U);
  EXPECT_FALSE(outline->complete);
  ASSERT_EQ(outline->elements.size(), 2U);
  EXPECT_EQ(outline->elements[0].mutation->kind, MutationKind::delete_id);
  EXPECT_EQ(outline->elements[1].tag, Txn3Tag::document);
  EXPECT_EQ(outline->elements[1].length, binary.size());

  payload += std::string(1, '\0') + static_cast<char>(json.size()) + json;
  const auto whole = outline_txn3(base::as_bytes(payload), {});
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(whole->complete);
  for (std::size_t cut = 0; cut < payload.size(); ++cut) {
    EXPECT_FALSE(outline_txn3(base::as_bytes(payload).first(cut), {}).has_value()) << cut;
  }
  EXPECT_FALSE(outline_txn3(base::as_bytes(payload + "x"), {}).has_value());
}

// The reverse of open_envelope, for the vector; the library never writes encrypted payloads.
std::string sealed(const Key& key, std::string_view nonce, std::string_view text) {
  const auto bytes = [](const auto& of) {
    return reinterpret_cast<const unsigned char*>(of.data());
  };
  std::string cipher(text.size(), '\0');
  std::string tag(k_tag_bytes, '\0');
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  int written = 0;
  EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nullptr, bytes(key), bytes(nonce));
  EVP_EncryptUpdate(context, reinterpret_cast<unsigned char*>(cipher.data()), &written, bytes(text),
                    static_cast<int>(text.size()));
  EVP_EncryptFinal_ex(context, nullptr, &written);
  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, static_cast<int>(k_tag_bytes), tag.data());
  EVP_CIPHER_CTX_free(context);
  return std::string(nonce) + cipher + tag;
}

TEST(Encryption, VectorOfSectionTen) {
  const std::string salt = hex("000102030405060708090a0b0c0d0e0f");
  const auto key = derive_key("correct horse", base::as_bytes(salt));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(base::to_hex(*key), "d00b90c40f918cf889780d7d3a9ec3c2b1719df87dc5e4d4d93ea6163db04e17");
  const std::string bytes =
      hex("01 5e 13 1f 3e 00 00 00 3e 00 00 00 00 00 00 00"
          "20 21 22 23 24 25 26 27 28 29 2a 2b 5d 6c d0 bd"
          "73 ed 86 f7 99 c5 da b9 f9 60 ca ce 8a a6 44 5f"
          "22 e6 09 63 ff 07 4d ab d2 c5 e6 72 43 3a 64 8c"
          "93 41 21 6e f5 cc db ca 6c 94 ae 76 96 3b");
  const std::string plain = txn2(R"([{"Delete":{"id":"v1"}}])");
  EXPECT_EQ(frame(sealed(*key, hex("202122232425262728292a2b"), plain), 0), bytes);

  const base::ByteSpan envelope = base::as_bytes(bytes).subspan(k_header_bytes);
  base::Bytes opened_text;
  ASSERT_TRUE(open_envelope(*key, envelope, opened_text));
  EXPECT_EQ(base::as_text(opened_text), plain);
  for (std::size_t i = 0; i < envelope.size(); ++i) {
    const std::string hurt = flipped(std::string(base::as_text(envelope)), i, 1);
    EXPECT_FALSE(open_envelope(*key, base::as_bytes(hurt), opened_text)) << i;
  }
  EXPECT_FALSE(open_envelope(*key, envelope.first(27), opened_text));
  const auto other = derive_key("wrong horse", base::as_bytes(salt));
  EXPECT_FALSE(open_envelope(*other, envelope, opened_text));
  EXPECT_FALSE(derive_key("x", base::as_bytes(salt).first(15)).has_value());
}

}  // namespace
}  // namespace varve::arena::test
