// SPDX-License-Identifier: MIT OR Apache-2.0
// Remote jss archives as stores: the registration table's entry for jss with another way to the
// bytes. Everything that reads works as on disk; the verbs that write are refused.
#pragma once

#include <string>

#include "serve/remote_http.hpp"
#include "varve/store.hpp"

namespace varve::serve {

// The name of the open option that holds the path of a file with the API key.
inline constexpr const char* k_api_key_file_option = "api-key-file";

// Stateless; its stores' paths are addresses (serve/remote_http.hpp, is_remote).
const Format& remote_format();

// The key in the file, or in the environment variable VARVE_API_KEY where the path is empty; empty
// if there is none. Errors: invalid_argument if it holds more than one line of plain characters.
Result<std::string> read_api_key(const std::string& path);

// The archive at `url` as files that can only be read; the options as for remote_format().open().
Result<std::unique_ptr<io::FileSystem>> open_remote_files(const std::string& url,
                                                          const OpenOptions& options);

// Opens the archive, or the one segment, at `url`: remote_format().open() with all that can be set.
Result<std::unique_ptr<StoreView>> open_remote(const std::string& url, const OpenOptions& options,
                                               RemoteOptions remote);

}  // namespace varve::serve
