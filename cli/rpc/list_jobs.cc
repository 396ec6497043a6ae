#include "cli/rpc/list_jobs.h"

#include <utility>

namespace glim::cli {
namespace {

constexpr std::uint32_t kPageSize = 200;
constexpr std::size_t kJobsMax = 100'000;

}  // namespace

Result<std::vector<glim::v1::Job>> ListAllJobs(Client& client, glim::v1::ListJobsRequest request) {
  std::vector<glim::v1::Job> jobs;
  request.set_page_size(kPageSize);
  do {
    Result<glim::v1::ListJobsResponse> page = client.Call(&glim::v1::ClientApi::Stub::ListJobs, request);
    if (!page.ok()) return page.status();
    for (auto& job : *page->mutable_jobs()) jobs.push_back(std::move(job));
    if (page->next_page_token() == request.page_token()) break;  // a server that does not get on
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && jobs.size() < kJobsMax);
  return jobs;
}

}  // namespace glim::cli
