// Api: what the gateway answers: the routes' RPCs, sessions of browsers, the stream, and pages.
//
// Any thread; the backend, the files and the stream's routes outlive it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/gateway/backend.h"
#include "scheduler/gateway/gzip_cache.h"
#include "scheduler/gateway/http_types.h"
#include "scheduler/gateway/routes.h"
#include "scheduler/gateway/sessions.h"
#include "scheduler/gateway/sse_sink.h"
#include "scheduler/gateway/static_files.h"

namespace glim::gateway {

class Api {
 public:
  struct Options {
    bool identity = true;             // false: plaintext mode, names are claimed
    std::vector<std::string> names;   // plaintext mode: by which the server is reached, beside addresses and localhost
    StreamRoutes* streams = nullptr;  // null: there is no stream
    std::unique_ptr<StaticFiles> files;  // null: there are no pages
  };
  Api(Backend* backend, Options options, boost::asio::any_io_executor executor)
      : backend_(backend), options_(std::move(options)), executor_(std::move(executor)) {}

  void Handle(HttpRequest request, std::shared_ptr<Exchange> exchange);

  const GzipCache& cache() const { return cache_; }

 private:
  struct Asked;  // a request with its exchange

  void Route(const std::shared_ptr<Asked>& asked);
  void CallRpc(const std::shared_ptr<Asked>& asked, const Match& match);
  void BeginSession(const std::shared_ptr<Asked>& asked);
  void ShowSession(const std::shared_ptr<Asked>& asked);
  void EndSession(const std::shared_ptr<Asked>& asked);
  void OpenStream(const std::shared_ptr<Asked>& asked);
  void Pages(const std::shared_ptr<Asked>& asked);
  void Answer(const Asked& asked, HttpAnswer answer);
  Status CheckHost(const HttpRequest& request) const;

  Backend* const backend_;
  const Options options_;
  const boost::asio::any_io_executor executor_;
  GzipCache cache_;
};

}  // namespace glim::gateway
