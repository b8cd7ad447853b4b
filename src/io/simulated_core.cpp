// SPDX-License-Identifier: MIT OR Apache-2.0
// Calls, faults, the recording, and the changes themselves.
#include "io/simulated_core.hpp"

#include <algorithm>
#include <cerrno>

namespace varve::io {

using simulated::Effect;
using simulated::EffectKind;
using simulated::Event;
using simulated::Node;

namespace {

// A moment to begin with where no clock is given: 2024-01-01T00:00:00Z, one millisecond a change.
constexpr std::int64_t k_first_ns = 1'704'067'200'000'000'000;
constexpr std::int64_t k_tick_ns = 1'000'000;

thread_local bool t_bystander = false;

}  // namespace

SimulatedFileSystem::Core::Bystander::Bystander() : before_(t_bystander) { t_bystander = true; }
SimulatedFileSystem::Core::Bystander::~Bystander() { t_bystander = before_; }

SimulatedFileSystem::Core::Core(const simulated::Image& image, const Options& options)
    : environment_(options.environment), record_(options.record) {
  for (const auto& node : image) {
    nodes_.push_back(Slot{node, nullptr, 0});
  }
  if (nodes_.empty()) {
    nodes_.emplace_back();  // inode 0 is "no object"
    const InodeNumber root = make_node(FileType::directory, 0755);
    nodes_[root].links = 2;
  }
  recording_.baseline = this->image();
  count_links();
}

void SimulatedFileSystem::Core::count_links() {
  for (InodeNumber inode = 1; inode < nodes_.size(); ++inode) {
    if (node(inode).type != FileType::directory) {
      continue;
    }
    nodes_[inode].links += 2;
    for (const auto& [name, target] : node(inode).entries) {
      if (node(target).type != FileType::directory) {
        ++nodes_[target].links;
      } else {
        ++nodes_[inode].links;
        if (node(target).parent != inode) {
          change(target).parent = inode;
        }
      }
    }
  }
}

std::optional<FaultKind> SimulatedFileSystem::Core::begin(CallKind kind, const std::string& path) {
  if (t_bystander) {
    return std::nullopt;
  }
  std::function<void(const Call&)> hook;
  {
    const auto held = lock();
    hook = hook_;
  }
  if (hook) {
    const Bystander bystander;
    hook(Call{kind, path});
  }
  const auto held = lock();
  ++call_;
  if (tracing_) {
    trace_.push_back(Call{kind, path});
  }
  if (!fault_ || (fault_->calls & mask_of(kind)) == 0) {
    return std::nullopt;
  }
  const std::uint64_t ordinal = fault_calls_++;
  if (ordinal == fault_->call || (fault_->for_good && ordinal > fault_->call)) {
    ++faults_met_;
    return fault_->kind;
  }
  return std::nullopt;
}

void SimulatedFileSystem::Core::set_fault(std::optional<Fault> fault) {
  fault_ = fault;
  fault_calls_ = 0;
  faults_met_ = 0;
}

void SimulatedFileSystem::Core::set_trace(bool on) {
  tracing_ = on;
  if (on) {
    trace_.clear();
  }
}

std::int64_t SimulatedFileSystem::Core::now_ns() {
  return environment_ != nullptr ? environment_->now_ns() : k_first_ns + k_tick_ns * ticks_++;
}

Node& SimulatedFileSystem::Core::change(InodeNumber inode) {
  Slot& slot = nodes_[inode];
  if (slot.own == nullptr) {
    auto copy = std::make_shared<Node>(*slot.node);
    slot.own = copy.get();
    slot.node = std::move(copy);
  }
  return *slot.own;
}

simulated::Image SimulatedFileSystem::Core::image() const {
  simulated::Image out;
  out.reserve(nodes_.size());
  for (const Slot& slot : nodes_) {
    // A copy, since this file system goes on changing its own nodes in place.
    out.push_back(slot.own != nullptr ? std::make_shared<Node>(*slot.own) : slot.node);
  }
  return out;
}

simulated::InodeNumber SimulatedFileSystem::Core::make_node(FileType type, std::uint32_t mode) {
  auto node = std::make_shared<Node>();
  node->type = type;
  node->mode = mode;
  node->modified_ns = node->changed_ns = now_ns();
  recording_.baseline.push_back(std::make_shared<Node>(*node));
  Slot slot{node, node.get(), type == FileType::directory ? 2U : 0U};
  nodes_.push_back(std::move(slot));
  return static_cast<InodeNumber>(nodes_.size() - 1);
}

void SimulatedFileSystem::Core::set_mode(InodeNumber inode, std::uint32_t mode) {
  change(inode).mode = mode;
}

void SimulatedFileSystem::Core::set_symlink_target(InodeNumber inode, const std::string& target) {
  change(inode).target = target;
  recording_.baseline[inode] = std::make_shared<Node>(node(inode));
}

void SimulatedFileSystem::Core::issue(Effect effect) {
  effect.time_ns = now_ns();
  effect.call = call_;
  apply(change(effect.inode), effect);
  if (!record_) {
    return;
  }
  const auto index = static_cast<std::uint32_t>(recording_.effects.size());
  pending_[effect.inode].push_back(index);
  is_durable_.push_back(false);
  const bool same_call = !recording_.events.empty() &&
                         recording_.events.back().kind == Event::Kind::issued &&
                         recording_.effects.back().call == effect.call && !t_bystander;
  recording_.effects.push_back(std::move(effect));
  if (same_call) {
    recording_.events.back().last = index + 1;
  } else {
    Event event;
    event.first = index;
    event.last = index + 1;
    recording_.events.push_back(std::move(event));
  }
}

void SimulatedFileSystem::Core::write(InodeNumber inode, std::span<const std::byte> bytes,
                                      std::uint64_t offset) {
  if (bytes.empty()) {
    return;
  }
  Effect data;
  data.inode = inode;
  data.offset = offset;
  data.length = bytes.size();
  data.bytes = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  issue(std::move(data));
  if (offset + bytes.size() > node(inode).content.size()) {
    resize(inode, offset + bytes.size());
  }
}

void SimulatedFileSystem::Core::resize(InodeNumber inode, std::uint64_t size_bytes) {
  const std::uint64_t before = node(inode).content.size();
  if (size_bytes == before) {
    return;
  }
  Effect effect;
  effect.kind = size_bytes < before ? EffectKind::cut : EffectKind::length;
  effect.inode = inode;
  effect.offset = size_bytes;
  issue(std::move(effect));
}

void SimulatedFileSystem::Core::punch(InodeNumber inode, std::uint64_t offset,
                                      std::uint64_t length) {
  const std::uint64_t size = node(inode).content.size();
  if (offset >= size) {
    return;
  }
  Effect effect;
  effect.kind = EffectKind::punch;
  effect.inode = inode;
  effect.offset = offset;
  effect.length = std::min(length, size - offset);
  issue(std::move(effect));
}

void SimulatedFileSystem::Core::allocate(InodeNumber inode, std::uint64_t offset,
                                         std::uint64_t length) {
  change(inode).content.allocate(offset, length);
  if (offset + length > node(inode).content.size()) {
    resize(inode, offset + length);
  }
}

void SimulatedFileSystem::Core::make_durable(InodeNumber inode) {
  const auto found = pending_.find(inode);
  if (found == pending_.end()) {
    return;
  }
  Event event;
  event.kind = Event::Kind::durable;
  for (const std::uint32_t index : found->second) {
    if (is_durable_[index]) {
      continue;  // already, as something that another directory's effect needed
    }
    const std::uint32_t needed = recording_.effects[index].needs;
    if (needed != simulated::k_nothing && !is_durable_[needed]) {
      is_durable_[needed] = true;
      event.effects.push_back(needed);
    }
    is_durable_[index] = true;
    event.effects.push_back(index);
  }
  pending_.erase(found);
  if (!event.effects.empty()) {
    recording_.events.push_back(std::move(event));
  }
}

void SimulatedFileSystem::Core::lose(InodeNumber inode) {
  const auto found = pending_.find(inode);
  if (found == pending_.end()) {
    return;
  }
  Event event;
  event.kind = Event::Kind::lost;
  event.effects = std::move(found->second);
  pending_.erase(found);
  recording_.events.push_back(std::move(event));
}

void SimulatedFileSystem::Core::settle() {
  pending_.clear();
  is_durable_.clear();
  recording_ = {};
  recording_.baseline = image();
}

void SimulatedFileSystem::Core::mark(std::uint64_t value, std::uint32_t slot) {
  if (record_) {
    Event event;
    event.kind = Event::Kind::mark;
    event.slot = slot;
    event.value = value;
    recording_.events.push_back(std::move(event));
  }
}

bool SimulatedFileSystem::Core::take_lock(InodeNumber inode, const void* handle, LockKind kind) {
  auto& holders = locks_[inode];
  for (const auto& [holder, held] : holders) {
    if (holder != handle && (kind == LockKind::exclusive || held == LockKind::exclusive)) {
      return false;
    }
  }
  release_lock(inode, handle);
  locks_[inode].emplace_back(handle, kind);
  return true;
}

bool SimulatedFileSystem::Core::locked_by_other(InodeNumber inode, const void* handle) const {
  const auto holders = locks_.find(inode);
  return holders != locks_.end() && std::ranges::any_of(holders->second, [&](const auto& holder) {
           return holder.first != handle && holder.second == LockKind::exclusive;
         });
}

void SimulatedFileSystem::Core::release_lock(InodeNumber inode, const void* handle) {
  std::erase_if(locks_[inode], [&](const auto& holder) { return holder.first == handle; });
}

}  // namespace varve::io
