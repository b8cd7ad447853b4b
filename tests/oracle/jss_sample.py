# SPDX-License-Identifier: MIT OR Apache-2.0
"""Invented AT Protocol traffic: accounts, records, links between them.

A World hands out events one at a time. It remembers which records are alive,
so updates and deletes hit records that were created earlier, and likes point
at posts that exist. The same seed gives the same events.
"""
import base64
import random
import time

import dagcbor
from jss_oracle import Row

_TID = "234567abcdefghijklmnopqrstuvwxyz"
_FIRST = ("anna ben clara dario eva finn greta hugo ida jonas karla leo mira nils olga paul "
          "rosa sven tilda ulf vera wim xenia yara zeno").split()
_NOUNS = ("river mud layer clay harbour winter gravel spring meadow lantern signal orchard "
          "kitchen ferry archive pebble thunder bicycle window letter garden station mirror "
          "sediment glacier notebook railway saffron teapot violin weather yarn").split()
_VERBS = ("finds keeps paints reads carries measures remembers opens follows mends collects "
          "crosses watches writes plants counts draws hears").split()
_EXTRA = ("today again slowly, twice; without a map, before dawn 🌊 in the rain — of course "
          "with friends, für immer, almost… near the lake 🪨 after work").split()

POST, LIKE = "app.bsky.feed.post", "app.bsky.feed.like"
REPOST, FOLLOW = "app.bsky.feed.repost", "app.bsky.graph.follow"
BLOCK, PROFILE = "app.bsky.graph.block", "app.bsky.actor.profile"
LIST_ITEM, WHITEWIND = "app.bsky.graph.listitem", "com.whtwnd.blog.entry"
START = 1_783_000_000_000_000


def iso(us):
    seconds, micros = divmod(us, 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + ".%03dZ" % (micros // 1000)


class Account:
    def __init__(self, did, handle):
        self.did, self.handle = did, handle
        self.active, self.gone = True, False
        self.records = {}            # (collection, rkey) -> CID text of the current value


class World:
    def __init__(self, seed, accounts=None, words=14, start_seq=1, start_us=START,
                 rate=2.0, noise=0):
        self.random = random.Random(seed)
        self.seq, self.now, self.tick = start_seq, start_us, start_us - 10 ** 6
        self.noise = noise
        self.step = max(1, int(2e6 / rate))
        self.relay_seq = 31_000_000_000
        self.words, self.limit = words, accounts or 400
        self.accounts, self.posts, self.pending = [], [], []
        self.deleted_did = self.synced_did = None

    # ------------------------------------------------ small makers

    def tid(self):
        self.tick = max(self.tick + 1, self.now - self.random.randrange(1000))
        value = self.tick << 10 | self.random.randrange(1024)
        return "".join(_TID[value >> s & 31] for s in range(60, -1, -5))

    def account(self):
        """A known account mostly, a new one while there is room."""
        pick = self.random.random()
        if len(self.accounts) < 4 or len(self.accounts) < self.limit and pick < 0.12:
            if self.random.random() < 0.03:
                did = "did:web:%s%d.example.net" % (self.random.choice(_FIRST),
                                                    len(self.accounts))
            else:
                raw = self.random.getrandbits(120).to_bytes(15, "big")
                did = "did:plc:" + base64.b32encode(raw).decode().lower()
            name = "%s%d.example.net" % (self.random.choice(_FIRST), len(self.accounts))
            self.accounts.append(Account(did, name))
            return self.accounts[-1]
        top = len(self.accounts)
        for _ in range(20):
            found = self.accounts[int(top * self.random.random() ** 2)]
            if not found.gone:
                return found
        return next(a for a in self.accounts if not a.gone)

    def text(self):
        r, out = self.random, []
        while len(out) < self.words:
            out += ["the", r.choice(_NOUNS), r.choice(_VERBS), "a", r.choice(_NOUNS),
                    r.choice(_EXTRA)]
        return " ".join(out[:max(1, r.randrange(self.words) + 1)])

    def subject(self):
        uri, cid = self.posts[int(len(self.posts) * (1 - self.random.random() ** 3 * 0.999))
                              - 1] if self.posts else (None, None)
        return {"uri": uri, "cid": cid} if uri else None

    # ------------------------------------------------ records

    def record(self, collection):
        r, out = self.random, {"$type": collection, "createdAt": iso(self.now)}
        if self.noise:
            out["noise"] = r.randbytes(self.noise)
        if collection == POST:
            out.update(text=self.text(), langs=[r.choice(("en", "de", "ja", "pt"))])
            subject = self.subject()
            if subject and r.random() < 0.4:
                out["reply"] = {"root": subject, "parent": subject}
            if r.random() < 0.15:
                blob = dagcbor.Link(b"\x01\x55\x12\x20" + r.randbytes(32))
                out["embed"] = {"$type": "app.bsky.embed.images", "images": [{
                    "alt": self.text(), "aspectRatio": {"width": 1200, "height": 900},
                    "image": {"$type": "blob", "ref": blob, "mimeType": "image/jpeg",
                              "size": r.randrange(10_000, 900_000)}}]}
        elif collection in (LIKE, REPOST):
            out["subject"] = self.subject() or {"uri": "at://did:plc:%s/%s/3k" % ("a" * 24, POST),
                                                "cid": dagcbor.cid_text(dagcbor.cid_of(b""))}
        elif collection in (FOLLOW, BLOCK):
            out["subject"] = self.account().did
        elif collection == LIST_ITEM:
            out.update(subject=self.account().did, sig=r.randbytes(16),
                       list="at://%s/app.bsky.graph.list/%s" % (self.account().did, self.tid()))
        elif collection == PROFILE:
            out.update(displayName=self.text()[:40], description=self.text(), pinned=None,
                       labels=[], bot=r.random() < 0.1, score=-r.randrange(1 << 40))
        else:
            out.update(title=self.text(), content=" ".join(self.text() for _ in range(6)))
        return out

    # ------------------------------------------------ events

    def event(self, kind, account, collection="", rkey="", rev="", payload=b""):
        self.now += 1 + self.random.randrange(self.step)
        row = Row(self.seq, self.now, 0, kind, account.did.encode(), collection.encode(),
                  rkey.encode(), rev.encode(), payload)
        if kind in (1, 2) and self.random.random() < 0.02:
            row = row._replace(indexed_at=self.now - self.random.randrange(10 ** 6, 10 ** 12))
        self.seq += 1
        return row

    def write(self, account, collection, rkey=None, kind=1):
        rkey = rkey or ("self" if collection == PROFILE else self.tid())
        payload = dagcbor.encode(self.record(collection))
        cid = dagcbor.cid_text(dagcbor.cid_of(payload))
        account.records[collection, rkey] = cid
        if collection == POST and kind == 1:
            self.posts.append(("at://%s/%s/%s" % (account.did, POST, rkey), cid))
            if len(self.posts) > 5000:
                del self.posts[:2500]
        return self.event(kind, account, collection, rkey, self.tid(), payload)

    def create(self):
        account = self.account()
        collection = self.random.choices(
            (LIKE, POST, FOLLOW, REPOST, BLOCK, PROFILE, LIST_ITEM, WHITEWIND),
            (46, 24, 14, 8, 2, 3, 2, 1))[0]
        if collection == PROFILE and (PROFILE, "self") in account.records:
            return self.write(account, PROFILE, kind=2)
        return self.write(account, collection)

    def _living(self, wanted):
        for _ in range(12):
            account = self.account()
            paths = [p for p in account.records if wanted(p[0])]
            if paths:
                return account, self.random.choice(paths[:50])
        return None, None

    def update(self):
        account, path = self._living(lambda c: c in (PROFILE, POST, WHITEWIND))
        return self.write(account, *path, kind=2) if account else self.create()

    def delete(self):
        account, path = self._living(lambda c: c != PROFILE)
        if account is None:
            return self.create()
        del account.records[path]
        return self.event(3, account, *path, self.tid())

    def _marker(self, account, **more):
        self.relay_seq += self.random.randrange(1, 900)
        return dagcbor.encode(dict({"did": account.did, "seq": self.relay_seq,
                                    "time": iso(self.now)}, **more))

    def identity(self):
        account = self.account()
        if self.random.random() < 0.2:
            return self.event(4, account, payload=self._marker(account))
        return self.event(4, account, payload=self._marker(account, handle=account.handle))

    def account_event(self):
        account = self.account()
        account.active = not account.active
        more = {} if account.active else {"status": self.random.choice(
            ("deactivated", "takendown", "suspended"))}
        return self.event(5, account, payload=self._marker(account, active=account.active,
                                                           **more))

    def account_deletion(self):
        """For good: the account writes no more."""
        account = max(self.accounts[1:], key=lambda a: len(a.records) * (not a.gone))
        account.gone, account.active, account.records = True, False, {}
        self.deleted_did = account.did
        return self.event(5, account, payload=self._marker(account, active=False,
                                                           status="deleted"))

    def sync(self):
        """A sync row; some of the account's records follow as create_resync."""
        account = max(self.accounts, key=lambda a: (not a.gone) * min(len(a.records), 12))
        rev, self.synced_did = self.tid(), account.did
        kept = list(account.records)[:5]
        account.records = {}
        self.pending = [(account, path) for path in kept]
        return self.event(6, account, rev=rev, payload=self._marker(
            account, rev=rev, blocks=self.random.randbytes(60)))

    def next(self):
        if self.pending:
            account, path = self.pending.pop(0)
            return self.write(account, *path, kind=7)
        pick = self.random.random()
        if pick < 0.86:
            return self.create()
        if pick < 0.93:
            return self.delete()
        if pick < 0.97:
            return self.update()
        return self.identity() if pick < 0.985 else self.account_event()
