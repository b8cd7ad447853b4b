// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/v2_root.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/text_coding.hpp"
#include "tay/refusal.hpp"

namespace varve::tay {

namespace {

Refusal epoch_refusal(const char* word, std::string file, std::string message,
                      Verdict verdict = Verdict::damaged) {
  Refusal out = make_refusal(verdict == Verdict::unknown ? RefusalKind::unsupported_physical
                                                         : RefusalKind::physical_corruption,
                             "store", word, std::move(message));
  out.physical_kind = "corrupt_epoch";
  out.verdict = verdict;
  out.file = std::move(file);
  out.offset = 0;
  out.unit = "epoch";
  return out;
}

void note_object(Snapshot& snapshot, const ObjectFault& fault, std::string_view name) {
  Refusal refusal = object_refusal(fault, std::string(k_store_name), std::string(name), 0,
                                   snapshot.marker(name)->identity.size_bytes);
  refusal.unit = name;
  refusal.message = "the file " + std::string(name) + " breaks a rule of the format";
  snapshot.problems.push_back(std::move(refusal));
}

bool has_entry(const Snapshot& snapshot, std::string_view name) {
  return std::ranges::any_of(snapshot.listing.root,
                             [name](const io::DirectoryEntry& e) { return e.name == name; });
}

std::string epoch_name(const Id& id) { return "e-" + base::to_hex(id); }

// Everything in the root that belongs to a v2 store is no longer "unrelated".
void settle_root_names(Snapshot& snapshot, const std::string& epoch) {
  std::erase_if(snapshot.listing.ignored, [](const std::string& name) {
    return name == k_store_v2_name || name == k_current_name || name == k_adoption_name ||
           name == k_epochs_name;
  });
  std::erase_if(snapshot.problems, [](const Refusal& refusal) {
    return refusal.word == "store_v2_requires_v2_recovery" || refusal.word == "missing_history";
  });
  if (snapshot.listing.has_segments) {
    snapshot.problems.push_back(discovery_refusal(
        "segments_beside_epochs", std::string(k_segments_name), std::string(k_segments_name),
        "the root of a Store v2 has no directory of segments"));
  }
  snapshot.segments.clear();
  snapshot.segments_directory.reset();
  snapshot.segments_prefix = std::string(k_epochs_name) + '/' + epoch + "/segments/";
}

Result<void> read_objects(Snapshot& snapshot, V2State& state) {
  Id marker_id{};
  if (has_entry(snapshot, k_store_v2_name)) {
    VARVE_TRY(
        read_marker(*snapshot.root, k_store_v2_name, k_store_v2_name, k_store_bytes, snapshot));
    const auto fault =
        decode_marker(snapshot.marker(k_store_v2_name)->bytes, k_store_v2_magic, marker_id);
    if (fault) {
      note_object(snapshot, *fault, k_store_v2_name);
    }
  } else {
    snapshot.problems.push_back(epoch_refusal(
        "missing_store_v2_marker", std::string(k_store_v2_name), "the file STORE-V2 is missing"));
  }
  VARVE_TRY(read_marker(*snapshot.root, k_current_name, k_current_name, k_current_bytes, snapshot));
  if (const auto fault = decode_current(snapshot.marker(k_current_name)->bytes, state.current)) {
    note_object(snapshot, *fault, k_current_name);
    return {};
  }
  const bool known = snapshot.store_id.has_value();
  const bool same = (!known || *snapshot.store_id == state.current.store_id) &&
                    (is_zero(marker_id) || marker_id == state.current.store_id);
  if (!same) {
    snapshot.problems.push_back(epoch_refusal("store_id", std::string(k_current_name),
                                              "STORE, STORE-V2 and CURRENT name different stores"));
  }
  return {};
}

Result<void> read_manifest(Snapshot& snapshot, const io::Directory& epoch, V2State& state) {
  const std::string shown =
      std::string(k_epochs_name) + '/' + epoch_name(state.current.epoch_id) + "/MANIFEST";
  VARVE_TRY(read_marker(epoch, k_manifest_name, shown, k_max_manifest_bytes, snapshot));
  const Bytes& bytes = snapshot.marker(shown)->bytes;
  if (const auto fault = decode_manifest(bytes, state.manifest)) {
    snapshot.problems.push_back(
        epoch_refusal(fault->word, shown,
                      fault->understood ? "the manifest breaks a rule of the format"
                                        : "the manifest says more than this build understands",
                      fault->understood ? Verdict::damaged : Verdict::unknown));
    return {};
  }
  if (base::sha256(bytes) != state.current.manifest_digest) {
    snapshot.problems.push_back(
        epoch_refusal("manifest_digest", shown, "the manifest is not the one that CURRENT names"));
  }
  if (state.manifest.epoch_id != state.current.epoch_id ||
      state.manifest.store_id != state.current.store_id) {
    snapshot.problems.push_back(epoch_refusal(
        "manifest_ids", shown, "the manifest belongs to another store or epoch than CURRENT"));
  }
  return {};
}

void check_epoch_entries(Snapshot& snapshot, const std::vector<io::DirectoryEntry>& entries,
                         const std::string& place) {
  for (const io::DirectoryEntry& entry : entries) {
    if (entry.name != k_manifest_name && entry.name != k_segments_name) {
      snapshot.problems.push_back(
          discovery_refusal("unrelated_epoch_entry", entry.name, place + '/' + entry.name,
                            "an epoch holds its manifest and its segments, and nothing else"));
    }
  }
}

// The sizes and ids that the manifest pins.
void check_base_segments(Snapshot& snapshot, const Manifest& manifest) {
  for (const BaseSegment& base : manifest.base_segments) {
    const auto found = std::ranges::find(snapshot.segments, base.id, &Segment::id);
    if (found == snapshot.segments.end() || found->bytes() != base.bytes) {
      Refusal refusal =
          epoch_refusal("base_segment_size", snapshot.segments_prefix + segment_name(base.id),
                        "a base segment is missing or not of the manifest's size");
      refusal.segment_id = base.id;
      refusal.expected = Number::decimal(base.bytes);
      snapshot.problems.push_back(std::move(refusal));
    }
  }
  if (snapshot.segments.size() < manifest.tail_segment_id) {
    snapshot.problems.push_back(discovery_refusal("missing_history", {}, snapshot.segments_prefix,
                                                  "the epoch's first tail segment is missing"));
  }
}

Result<void> list_epoch(Snapshot& snapshot, const io::Directory& epoch, const Manifest& manifest,
                        const std::string& place) {
  VARVE_ASSIGN(const auto entries, epoch.list());
  check_epoch_entries(snapshot, entries, place);
  auto opened = epoch.open_directory(k_segments_name);
  if (!opened) {
    if (opened.error().system_errno != ENOENT && opened.error().system_errno != ENOTDIR) {
      return std::unexpected(std::move(opened).error());
    }
    return {};
  }
  snapshot.segments_directory = *std::move(opened);
  Listing inner;
  VARVE_ASSIGN(auto files, snapshot.segments_directory->list());
  judge_segments(std::move(files), k_no_limit, inner);
  for (Refusal& problem : inner.problems) {
    problem.file = place + '/' + problem.file;
    snapshot.problems.push_back(std::move(problem));
  }
  for (const std::string& name : inner.ignored) {
    snapshot.problems.push_back(discovery_refusal("unrelated_epoch_entry", name, place + '/' + name,
                                                  "an epoch's segments have no other company"));
  }
  for (const std::string& name : inner.staging) {
    snapshot.listing.staging.push_back(place + '/' + name);
  }
  snapshot.segments = segments_of(inner);
  VARVE_TRY(refresh_earlier(*snapshot.segments_directory, snapshot.segments));
  check_base_segments(snapshot, manifest);
  return {};
}

}  // namespace

Result<void> open_epoch(Snapshot& snapshot) {
  snapshot.version = 2;
  auto state = std::make_shared<V2State>();
  settle_root_names(snapshot, "");
  VARVE_TRY(read_objects(snapshot, *state));
  const std::string name = epoch_name(state->current.epoch_id);
  const std::string place = std::string(k_epochs_name) + '/' + name;
  snapshot.segments_prefix = place + "/segments/";
  snapshot.v2 = state;
  if (is_zero(state->current.epoch_id)) {
    return {};
  }
  auto epochs = snapshot.root->open_directory(k_epochs_name);
  auto epoch =
      epochs ? (*epochs)->open_directory(name)
             : Result<std::unique_ptr<io::Directory>>(std::unexpected(std::move(epochs).error()));
  if (!epoch) {
    if (epoch.error().system_errno != ENOENT && epoch.error().system_errno != ENOTDIR) {
      return std::unexpected(std::move(epoch).error());
    }
    snapshot.problems.push_back(
        epoch_refusal("missing_epoch", place, "the epoch that CURRENT names is missing"));
    return {};
  }
  auto manifest = (*epoch)->identity_of(k_manifest_name);
  if (!manifest || manifest->type != io::FileType::regular) {
    snapshot.problems.push_back(
        epoch_refusal("missing_manifest", place + "/MANIFEST", "the epoch's manifest is missing"));
  } else {
    VARVE_TRY(read_manifest(snapshot, **epoch, *state));
  }
  return list_epoch(snapshot, **epoch, state->manifest, place);
}

Result<void> check_base_digests(const Snapshot& snapshot,
                                const std::function<void(Refusal)>& refuse) {
  Bytes buffer(k_read_bytes);
  for (const BaseSegment& base : snapshot.v2->manifest.base_segments) {
    const auto found = std::ranges::find(snapshot.segments, base.id, &Segment::id);
    if (found == snapshot.segments.end() || found->bytes() != base.bytes) {
      continue;  // said already
    }
    VARVE_ASSIGN(const auto file,
                 snapshot.segments_directory->open_file(found->name, io::OpenMode::read));
    base::Sha256Stream hash;
    for (std::uint64_t at = 0; at < base.bytes; at += buffer.size()) {
      const auto piece = std::span(buffer).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), base.bytes - at)));
      VARVE_TRY(read_exactly(*file, at, piece));
      hash.update(piece);
    }
    if (hash.digest() != base.digest) {
      Refusal refusal = epoch_refusal("base_segment_digest", snapshot.segments_prefix + found->name,
                                      "a base segment does not fit the SHA-256 in the manifest");
      refusal.segment_id = base.id;
      refusal.length = base.bytes;
      refusal.unit = "segment";
      refuse(std::move(refusal));
    }
  }
  return {};
}

void check_base_coordinates(const Snapshot& snapshot, const std::vector<Segment>& walked,
                            const std::function<void(Refusal)>& refuse) {
  for (const BaseSegment& base : snapshot.v2->manifest.base_segments) {
    const auto found = std::ranges::find(walked, base.id, &Segment::id);
    if (found == walked.end() || found->hurt || !found->header) {
      continue;  // said already
    }
    const bool same_first = found->header->first_sequence == base.first_sequence;
    if (same_first && found->last_sequence == base.last_sequence) {
      continue;
    }
    Refusal refusal =
        epoch_refusal("base_segment_sequences", snapshot.segments_prefix + found->name,
                      "a base segment does not hold the sequences that the manifest names");
    refusal.segment_id = base.id;
    refusal.expected = Number::decimal(same_first ? base.last_sequence : base.first_sequence);
    refusal.actual =
        Number::decimal(same_first ? found->last_sequence : found->header->first_sequence);
    refuse(std::move(refusal));
  }
}

void add_v2_detail(const Snapshot& snapshot, Json& detail) {
  if (!snapshot.v2) {
    return;
  }
  const auto& [current, manifest] = *snapshot.v2;
  detail.set("CURRENT", Json::object()
                            .set("STORE_ID", base::to_hex(current.store_id))
                            .set("epoch_id", base::to_hex(current.epoch_id))
                            .set("manifest_sha256", base::to_hex(current.manifest_digest)));
  Json bases = Json::array();
  for (const BaseSegment& base : manifest.base_segments) {
    bases.push(Json::object()
                   .set("id", base.id)
                   .set("bytes", base.bytes)
                   .set("first_sequence", base.first_sequence)
                   .set("last_sequence", base.last_sequence)
                   .set("digest", base::to_hex(base.digest)));
  }
  Json retention("infinity");
  if (manifest.retention_hours) {
    retention = Json::object().set("hours", *manifest.retention_hours);
  } else if (manifest.retention_minutes) {
    retention = Json::object().set("minutes", *manifest.retention_minutes);
  }
  detail.set(
      "MANIFEST",
      Json::object()
          .set("base_segments", std::move(bases))
          .set("captured_at", manifest.captured_at)
          .set("epoch_id", base::to_hex(manifest.epoch_id))
          .set("source_epoch_id",
               manifest.source_epoch_id ? Json(base::to_hex(*manifest.source_epoch_id)) : Json())
          .set("source_frontier", manifest.source_frontier)
          .set("source_segments", std::uint64_t{manifest.source_segments})
          .set("store_id", base::to_hex(manifest.store_id))
          .set("tail_first_sequence", manifest.tail_first_sequence)
          .set("tail_segment_id", manifest.tail_segment_id)
          .set("terminal_retention", std::move(retention)));
}

}  // namespace varve::tay
