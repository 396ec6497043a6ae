// Verifier: whether an ID token is the issuer's word, and for which user.
//
// The issuer's keys are fetched by a thread of its own (discovery, then its key set) and kept for ten minutes; a token
// that names a key which is not among them has them fetched anew, once a minute at most. Each token counts once.
// Thread-safe; Stop ends the thread, and refuses what waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/oidc/claims.h"
#include "scheduler/oidc/jwks.h"

namespace glim::oidc {

inline constexpr Duration kKeysKept = Minutes(10);
inline constexpr Duration kUnknownKeyPause = Minutes(1);
inline constexpr Duration kFailurePause = Seconds(5);

// By HTTPS. Errors of https::Client; UNAVAILABLE (ISSUER_UNREACHABLE): the answer is another than 200.
Result<std::string> FetchDocument(const std::string& url);

class Verifier {
 public:
  using Fetch = std::function<Result<std::string>(const std::string& url)>;  // blocks; FetchDocument
  using Done = std::function<void(const Result<std::string>& user)>;

  Verifier(Issuer issuer, Fetch fetch, std::function<TimePoint()> clock);
  ~Verifier();

  const Issuer& issuer() const { return issuer_; }
  // `done` is called once if this is OK, by the verifier's thread, and must not block: UNAUTHENTICATED (BAD_ID_TOKEN,
  // ID_TOKEN_USED), UNAVAILABLE (ISSUER_UNREACHABLE, STOPPING). RESOURCE_EXHAUSTED (OVERLOADED): too many wait.
  Status Verify(std::string id_token, Done done);
  void Stop();

 private:
  struct Asked {
    std::string id_token;
    Done done;
  };
  void Run();
  Result<std::string> Judge(const std::string& id_token);
  Result<const PublicKey*> KeyFor(const Jwt& jwt, TimePoint now);
  Status FetchKeys(TimePoint now);
  Status UseOnce(const Jwt& jwt, TimePoint now);

  const Issuer issuer_;
  const Fetch fetch_;
  const std::function<TimePoint()> clock_;

  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  std::deque<Asked> asked_;
  bool stopped_ = false;

  // The thread's own.
  std::vector<PublicKey> keys_;
  TimePoint fetched_at_;  // 0: never
  TimePoint tried_at_;
  Status failure_;                         // of the newest try
  std::map<std::string, TimePoint> used_;  // hashes of what was signed, until it counts no more
  std::thread thread_;                     // last: it uses all of these
};

}  // namespace glim::oidc
