// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/sql_names.hpp"

namespace varve::jss {

namespace {

constexpr model::NamedQuery k_queries[] = {
    {"records",
     "select seq, witnessed_at, kind, did, collection, rkey, rev, cid, record, "
     "'at://' || did || '/' || collection || '/' || rkey as uri "
     "from log where kind in ('create', 'update', 'create_resync')"},
};
constexpr std::string_view k_prefix_filters[] = {"collection"};

}  // namespace

model::SqlNames sql_names() { return {k_queries, k_prefix_filters}; }

}  // namespace varve::jss
