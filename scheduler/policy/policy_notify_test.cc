// Who sees where notifications go.
#include "scheduler/policy/policy_notify.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "scheduler/policy/policy_file.h"

namespace glim::server {
namespace {

// The path of a webhook's URL may be as good as a password: operators alone see it, and no log does.
TEST(PolicyNotify, WebhooksUrlsAreCutShortWhereOthersSeeThem) {
  const auto with = [](const std::string& url) {
    return *ReadPolicyText("notify: {webhooks: {chat: {url: '" + url + "', secret_file: /s}}}", "p.yaml");
  };
  const PolicyFile one = with("https://chat.example:8443/hooks/T0PSECRET?k=v"),
                   other = with("https://chat.example:8443/hooks/T0PSECRET2");
  EXPECT_NE(PolicyYaml(one).find("T0PSECRET"), std::string::npos);
  const std::string shown = PolicyYamlForAll(one);
  EXPECT_NE(shown.find("https://chat.example:8443/..."), std::string::npos) << shown;
  EXPECT_EQ(shown.find("T0PSECRET"), std::string::npos) << shown;
  EXPECT_EQ(PolicyYamlForAll({}), PolicyYaml({}));
  for (const auto& changes : {DiffPolicies({}, one), DiffPolicies(one, {}), DiffPolicies(one, other)}) {
    const std::string words = ChangesInWords(changes);
    EXPECT_NE(words.find("https://chat.example:8443/..."), std::string::npos) << words;
    EXPECT_EQ(words.find("T0PSECRET"), std::string::npos) << words;
  }
  EXPECT_NE(ChangesInWords(DiffPolicies(one, other)).find("(with another URL)"), std::string::npos);
  const auto refused = ReadPolicyText(
      "notify: {webhooks: {chat: {url: 'https://kim:T0PSECRET@chat.example/T0PSECRET', secret_file: /s}}}", "p.yaml");
  EXPECT_NE(refused.status().message().find("'https://chat.example/...'"), std::string::npos);
  EXPECT_EQ(refused.status().message().find("T0PSECRET"), std::string::npos) << refused.status().message();
}

TEST(PolicyNotify, ShortUrlsAreSchemeAndHost) {
  const std::pair<const char*, const char*> kRows[] = {{"https://x/", "https://x/..."},
                                                       {"https://x:1", "https://x:1"},
                                                       {"https://x?token=1", "https://x/..."},
                                                       {"https://x#part", "https://x/..."},
                                                       {"https://kim:pw@x", "https://x/..."},
                                                       {"http://[::1]:80/a", "http://[::1]:80/..."},
                                                       {"T0PSECRET", "..."},
                                                       {"", "..."}};
  for (const auto& [url, shown] : kRows) EXPECT_EQ(ShortUrl(url), shown) << url;
}

}  // namespace
}  // namespace glim::server
