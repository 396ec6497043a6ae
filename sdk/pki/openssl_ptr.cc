#include "sdk/pki/openssl_ptr.h"

#include <openssl/err.h>

#include "sdk/base/check.h"

namespace glim::pki {

BioPtr ReadingBio(std::string_view bytes) {
  // A view of nothing may have no address, which OpenSSL takes for a fault of the caller's.
  BioPtr bio(BIO_new_mem_buf(bytes.empty() ? "" : bytes.data(), static_cast<int>(bytes.size())));
  GLIM_CHECK(bio != nullptr, "out of memory");
  return bio;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const auto bytes = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(bytes)};
}

std::string OpensslError() {
  const char* words = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return words != nullptr ? words : "no reason given";
}

}  // namespace glim::pki
