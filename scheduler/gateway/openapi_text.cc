#include "scheduler/gateway/openapi_text.h"

#include <cstddef>

// The assembler reads the file: no text that a compiler would have to take for one string.
asm(R"(
.section .rodata
.globl glim_openapi_text
.hidden glim_openapi_text
glim_openapi_text:
.incbin ")" GLIM_OPENAPI_FILE R"("
.globl glim_openapi_text_end
.hidden glim_openapi_text_end
glim_openapi_text_end:
.text
)");

extern "C" const char glim_openapi_text[];
extern "C" const char glim_openapi_text_end[];

namespace glim::gateway {

std::string_view OpenApiText() {
  return {glim_openapi_text, static_cast<std::size_t>(glim_openapi_text_end - glim_openapi_text)};
}

}  // namespace glim::gateway
