// SPDX-License-Identifier: MIT OR Apache-2.0
// `get`: an allocation, the root value by its descriptor, or whatever owns a byte.

#include "base/text_coding.hpp"
#include "base/whole_number.hpp"
#include "kladde/contents.hpp"
#include "kladde/owners.hpp"
#include "kladde/rows.hpp"
#include "kladde/value.hpp"
#include "kladde/view.hpp"

namespace varve::kladde {

namespace {

constexpr std::size_t k_shown_fragments = 1000;

const char* kind_text(FragmentKind kind) {
  switch (kind) {
    case FragmentKind::ref:
      return "Ref";
    case FragmentKind::in_line:
      return "Inline";
    case FragmentKind::zero:
      return "Zero";
    case FragmentKind::denied:
      break;
  }
  return "Shrink or Tombstone";
}

// What decides the committed bytes of an allocation, stretch by stretch.
Json fragments_json(const Allocation& allocation) {
  Json out = Json::array();
  std::size_t count = 0;
  allocation.fragments.for_each([&](const Fragment& fragment) {
    if (++count > k_shown_fragments) {
      return;
    }
    Json row = Json::object();
    row.set("offset", fragment.start)
        .set("size", fragment.size)
        .set("by", kind_text(fragment.kind));
    row.set("table_page", fragment.table);
    if (fragment.has_bytes()) {
      row.set("address", fragment.address);
    }
    out.push(std::move(row));
  });
  return out;
}

Json owner_json(const DataOwner& owner) {
  return Json::object()
      .set("id", owner.id)
      .set("offset", owner.start)
      .set("size", owner.size)
      .set("offset_in_page", owner.offset);
}

std::unexpected<Error> nothing_under(const std::string& key, const std::string& path) {
  return fail(ErrorCode::invalid_argument, "not_found", "the store has nothing under " + key, path);
}

}  // namespace

Result<Json> View::get_allocation(const World& world, const State& state, Id id,
                                  const RenderOptions& options, std::string& bytes) const {
  if (state.size(id) > options_.max_memory_bytes) {
    return fail(ErrorCode::limit, word::limit,
                "allocation " + std::to_string(id) + " is larger than the memory limit", path_);
  }
  VARVE_TRY(append_contents(*file_, state, id, 0, state.size(id), bytes));
  std::string payload = "{\"id\":" + std::to_string(id);
  append_payload(payload, bytes, options);
  Json out = Json::object();
  out.set("id", id).set("size", state.size(id));
  // `append_payload` writes one member, which is taken over as it stands.
  if (options.payload != PayloadForm::none) {
    const std::size_t key = payload.find(",\"") + 2;
    const std::size_t colon = payload.find("\":", key);
    out.set(payload.substr(key, colon - key), Json::raw(payload.substr(colon + 2)));
  }
  out.set("changed_since_flush", state.touched().contains(id));
  const auto committed = world.allocations.find(id);
  if (committed != world.allocations.end() && committed->second.exists) {
    out.set("committed", Json::object()
                             .set("size", committed->second.size)
                             .set("statements", committed->second.present)
                             .set("fragments", std::uint64_t{committed->second.fragments.count()})
                             .set("stands_in", fragments_json(committed->second)));
  }
  return out;
}

Result<GetResult> View::get_root(const World& world, const State& state,
                                 const RenderOptions& options) const {
  const Header& header = world.header;
  if (header.root_allocation == 0) {
    return fail(ErrorCode::invalid_argument, "not_found", "the header names no root allocation",
                path_);
  }
  GetResult out;
  out.raw.emplace();
  VARVE_ASSIGN(out.document,
               get_allocation(world, state, header.root_allocation, options, *out.raw));
  out.document.set("root_fingerprint", base::to_hex(header.root_fingerprint));
  std::string table_bytes;
  VARVE_TRY(append_contents(*file_, state, header.schema_table, 0, state.size(header.schema_table),
                            table_bytes));
  const auto table = decode_type_table(base::as_bytes(table_bytes));
  if (header.schema_table == 0 || !table) {
    out.document.set("type", Json())
        .set("type_missing", header.schema_table == 0 ? Json("the header names no "
                                                             "schema table")
                                                      : Json(table.error().message));
    return out;
  }
  const bool known = type_fingerprint(*table) == header.root_fingerprint;
  out.document.set("type", table->front().name).set("fingerprint_holds", known);
  if (!known) {
    return out;  // a value is never interpreted by another type
  }
  auto value = ValueReader(*table).read_root(base::as_bytes(*out.raw), true);
  if (value) {
    out.document.set("value", std::move(value->json));
  } else {
    out.document.set("value", Json())
        .set("value_fault",
             std::string(value.error().what) + ", at byte " + std::to_string(value.error().offset));
  }
  return out;
}

Result<GetResult> View::get_once(const std::string& key, const RenderOptions& options) {
  const Policy policy = Policy::strict(path_);
  const LoadRequest request = load_request(true);
  VARVE_ASSIGN(const auto world, load(request, policy));
  State state(world->allocations, max_pieces());
  VARVE_ASSIGN(const Journal journal, replay_journal(*file_, *world, request, policy, state));
  if (options_.options.contains("root")) {
    return get_root(*world, state, options);
  }
  const bool by_place = key.starts_with('@');
  const auto number =
      base::whole_number<std::uint64_t>(std::string_view(key).substr(by_place ? 1 : 0));
  if (!number) {
    return fail(ErrorCode::invalid_argument, "key", "not an allocation id or @OFFSET: " + key);
  }
  GetResult out;
  if (!by_place) {
    if (*number > k_max_u32 || !state.exists(static_cast<Id>(*number))) {
      return nothing_under(key, path_);
    }
    out.raw.emplace();
    VARVE_ASSIGN(out.document,
                 get_allocation(*world, state, static_cast<Id>(*number), options, *out.raw));
    return out;
  }
  const std::uint64_t page = *number / k_page_bytes;
  if (page >= world->page_count) {
    return nothing_under(key, path_);
  }
  const PageOwners owners(*world, journal);
  const auto offset = static_cast<std::uint32_t>(*number % k_page_bytes);
  out.document = Json::object()
                     .set("page", page)
                     .set("offset_in_page", offset)
                     .set("use", to_text(owners.use(page)))
                     .set("owner", owners.words(page));
  Json bytes_of = Json::array();
  for (const DataOwner& owner : owners.data(static_cast<PageNumber>(page))) {
    if (offset >= owner.offset && offset - owner.offset < owner.size) {
      bytes_of.push(owner_json(owner));
    }
  }
  out.document.set("bytes_of", std::move(bytes_of));
  out.raw.emplace(k_page_bytes, '\0');
  VARVE_TRY(file_->read_at({reinterpret_cast<std::byte*>(out.raw->data()), k_page_bytes},
                           page * k_page_bytes));
  return out;
}

}  // namespace varve::kladde
