// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/open.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "serve/remote_view.hpp"
#include "store/open.hpp"

namespace varve::cli {

namespace {

constexpr std::uint64_t k_default_max_memory_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t k_most_threads = 1024;

std::unexpected<Error> usage(std::string reason, std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(reason), std::move(message));
}

// The formats that offer an option of that name to the verb, for messages.
std::string offered_by(const Session& session, std::string_view name) {
  std::string names;
  for (const Format* format : session.context().formats) {
    const auto offers = [&](const auto& spec) {
      return spec.name == name && lists_word(spec.verbs, session.command().name);
    };
    if (std::ranges::any_of(format->filters(), offers) ||
        std::ranges::any_of(format->options(), offers)) {
      names += (names.empty() ? "" : ", ") + std::string(format->name());
    }
  }
  return names;
}

Result<void> check_choice(std::string_view format, std::string_view name, std::string_view choices,
                          const std::string& value) {
  if (!choices.empty() && !lists_word(choices, value)) {
    return usage(std::string(name), fmt::format("--{} '{}': for {} one of: {}", name, value, format,
                                                fmt::join(split_words(choices), ", ")));
  }
  return {};
}

// Sorts one option of the union into the target's filters or options.
Result<void> take_format_option(const Session& session, const std::string& name, Target& target) {
  const Format& format = *target.format;
  const std::string& verb = session.command().name;
  for (const FilterSpec& filter : format.filters()) {
    if (filter.name == name && lists_word(filter.verbs, verb)) {
      for (const std::string& value : session.arguments().values(name)) {
        VARVE_TRY(check_choice(format.name(), name, filter.choices, value));
        target.predicate.terms.push_back({name, value});
      }
      return {};
    }
  }
  for (const OptionSpec& option : format.options()) {
    if (option.name == name && lists_word(option.verbs, verb)) {
      const std::string value = session.arguments().value(name);
      VARVE_TRY(check_choice(format.name(), name, option.choices, value));
      target.options[name] = value;
      return {};
    }
  }
  return usage(name, fmt::format("--{} has no meaning for a {} store (only for: {})", name,
                                 format.name(), offered_by(session, name)));
}

Result<void> take_log_options(const Session& session, Target& target) {
  const Arguments& arguments = session.arguments();
  const Format& format = *target.format;
  if (arguments.has("seq")) {
    if (!format.has_seq()) {
      return usage("seq", fmt::format("--seq: {} records have no sequence numbers", format.name()));
    }
    VARVE_ASSIGN(const SeqRange range, parse_seq(arguments.value("seq")));
    target.predicate.seq_first = range.first;
    target.predicate.seq_last = range.last;
  }
  for (const char* name : {"since", "until"}) {
    if (arguments.has(name)) {
      if (!format.has_time()) {
        return usage(name, fmt::format("--{}: {} records have no times", name, format.name()));
      }
      VARVE_ASSIGN(const std::int64_t time_us, parse_time(name, arguments.value(name)));
      (name[0] == 's' ? target.predicate.since_us : target.predicate.until_us) = time_us;
    }
  }
  return {};
}

Result<void> take_options(const Session& session, Target& target) {
  const Arguments& arguments = session.arguments();
  target.max_memory_bytes = k_default_max_memory_bytes;
  if (arguments.has("max-memory")) {
    VARVE_ASSIGN(target.max_memory_bytes, parse_size("max-memory", arguments.value("max-memory")));
  }
  if (arguments.has("threads")) {
    VARVE_ASSIGN(const std::uint64_t threads, parse_count("threads", arguments.value("threads")));
    if (threads > k_most_threads) {
      return usage("threads", fmt::format("--threads: at most {}", k_most_threads));
    }
    target.threads = static_cast<unsigned>(threads);
  }
  VARVE_TRY(take_log_options(session, target));
  for (const Option& option : options_of(session.command(), session.context().formats)) {
    if (option.from_formats && arguments.has(option.name)) {
      VARVE_TRY(take_format_option(session, option.name, target));
    }
  }
  return {};
}

}  // namespace

namespace {

// An archive that a server holds.
Result<Target> remote_target(const Session& session, const std::string& url) {
  const std::string format = session.arguments().value("format");
  if (!format.empty() && format != serve::remote_format().name()) {
    return usage("format", fmt::format("--format {}: what is read over HTTP is a {} archive",
                                       format, serve::remote_format().name()));
  }
  VARVE_ASSIGN(Target target, target_of(session, serve::remote_format(), url));
  if (session.has("api-key-file")) {
    target.options[serve::k_api_key_file_option] = session.arguments().value("api-key-file");
  }
  return target;
}

}  // namespace

Result<Target> locate_target(const Session& session, const std::string& path) {
  if (serve::is_remote(path)) {
    return remote_target(session, path);
  }
  const Context& context = session.context();
  VARVE_ASSIGN(const store::Located located, store::locate(context.formats, context.files, path,
                                                           session.arguments().value("format")));
  return target_of(session, *located.format, located.path);
}

Result<Target> target_of(const Session& session, const Format& format, const std::string& path) {
  Target target;
  target.format = &format;
  target.path = path;
  VARVE_TRY(take_options(session, target));
  return target;
}

Result<Target> new_target(const Session& session, const std::string& path) {
  const Context& context = session.context();
  const std::string name = session.arguments().value("format");
  Target target;
  target.format = store::find_format(context.formats, name);
  target.path = path;
  if (serve::is_remote(path)) {
    return usage("usage", "a store cannot be made on a server");
  }
  if (target.format == nullptr) {
    return usage("format", fmt::format("--format says what to make: one of {}",
                                       store::format_names(context.formats)));
  }
  VARVE_TRY(take_options(session, target));
  return target;
}

OpenOptions open_options(const Target& target) {
  OpenOptions options;
  options.threads = target.threads;
  options.max_memory_bytes = target.max_memory_bytes;
  options.options = target.options;
  return options;
}

Result<std::unique_ptr<StoreView>> open_view(const Session& session, const Target& target) {
  return target.format->open(session.context().files, target.path, open_options(target));
}

WriteRequest write_request(const Session& session, const Target& target) {
  WriteRequest request;
  request.environment = &session.context().environment;
  request.threads = target.threads;
  request.dry_run = session.has("dry-run");
  request.options = target.options;
  return request;
}

RenderOptions render_options(const Session& session, const Target& target) {
  RenderOptions options;
  options.payload = parse_payload_form(session.arguments().value("payload", "json"));
  options.int64_as_string = session.int64_as_string();
  if (const auto as = target.options.find("as"); as != target.options.end()) {
    options.as = as->second;
  }
  return options;
}

Result<std::size_t> max_findings(const Session& session) {
  constexpr std::size_t k_default = 10'000;
  if (!session.has("max-findings")) {
    return k_default;
  }
  VARVE_ASSIGN(const std::uint64_t count,
               parse_count("max-findings", session.arguments().value("max-findings")));
  return static_cast<std::size_t>(count);
}

}  // namespace varve::cli
