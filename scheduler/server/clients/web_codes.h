// WebCodes: how a browser gets a session: who has a token asks for a code, which counts once and for a minute, and
// whoever shows it gets a token of its own. So no token is in an address, in a history or among a program's arguments.
//
// The token is made when the code is shown, by the rights that its maker has then, as AdminApi/CreateToken would make
// it (token_rules.h), for half a day at most. Codes are kept in memory: a restart forgets them.
// Any thread. The door, and so the loop, outlive it.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/nodes/attempt_rate.h"

namespace glim::server {

inline constexpr Duration kWebCodeLife = Seconds(60);
inline constexpr Duration kWebSessionLife = Hours(12);
inline constexpr std::size_t kWebCodesMax = 4'096;     // of all
inline constexpr std::size_t kWebCodesOfUserMax = 16;  // the oldest goes

class WebCodes {
 public:
  explicit WebCodes(Door* door) : door_(door) {}

  // "https://head:7604", as another machine reaches the HTTP port, once it is served.
  void set_url(std::string url);

  // FAILED_PRECONDITION (NO_IDENTITY, NO_HTTP), and what CreateToken refuses.
  grpc::ServerUnaryReactor* Create(grpc::CallbackServerContext* context, const v1::CreateWebCodeRequest& request,
                                   v1::CreateWebCodeResponse* response);
  // UNAUTHENTICATED (BAD_CODE): unknown, used, or over; RESOURCE_EXHAUSTED (LOGIN_RATE); what the maker lost since.
  grpc::ServerUnaryReactor* Redeem(grpc::CallbackServerContext* context, const v1::RedeemWebCodeRequest& request,
                                   v1::RedeemWebCodeResponse* response);

 private:
  struct Code {
    Caller maker;
    TimePoint expires_at;
  };
  void Keep(const std::string& hash, const Caller& maker, TimePoint now);
  // The code's row, which is gone with it; false: there is none that counts.
  bool Take(const std::string& code, TimePoint now, Code* out);

  Door* const door_;
  AttemptRate attempts_;  // by peer
  std::mutex mutex_;      // guards what follows
  std::string url_;
  std::map<std::string, Code> codes_;  // by the code's hash
};

}  // namespace glim::server
