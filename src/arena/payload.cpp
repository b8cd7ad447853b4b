// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/payload.hpp"

namespace varve::arena {

PayloadView look_at_payload(const PayloadContext& context, base::ByteSpan payload,
                            PayloadScratch& scratch) {
  PayloadView view{PayloadClass::opaque, payload, std::nullopt};
  const auto refuse = [&](const PayloadFault& fault) {
    view.what = PayloadClass::refused;
    view.fault = fault;
    return view;
  };
  if (context.encrypted && form_of(payload) == TransactionForm::unknown) {
    if (!context.key) {
      view.what = PayloadClass::encrypted;
      return view;
    }
    if (!open_envelope(*context.key, payload, scratch.decrypted)) {
      return refuse({"decrypt-failed", 0, "the envelope does not open with this passphrase"});
    }
    view.text = scratch.decrypted;
  }
  switch (form_of(view.text)) {
    case TransactionForm::txn2: {
      const auto fault = decode_transaction(view.text, context.rules, scratch.mutations);
      if (!fault) {
        view.what = PayloadClass::txn2;
      } else if (context.rules_apply) {
        return refuse(*fault);
      }
      return view;
    }
    case TransactionForm::txn3:
      view.what = PayloadClass::txn3;
      return view;
    case TransactionForm::other_txn:
      if (context.rules_apply) {
        return refuse({"unsupported-payload", 0, "a transaction form that is not known here"});
      }
      return view;
    case TransactionForm::unknown:
      if (context.rules_apply) {
        return refuse({"bad-payload", 0, "the payload does not begin as a transaction"});
      }
      return view;
  }
  return view;
}

}  // namespace varve::arena
