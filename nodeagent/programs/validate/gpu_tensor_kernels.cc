#include "nodeagent/programs/validate/gpu_tensor_kernels.h"

// Written by hand, as gpu_kernels.cc.

namespace glim::validate {

const char* const kGpuTensorKernels = R"ptx(
.version 7.0
.target sm_80
.address_size 64

// A block of 8 warps makes 64 rows and 128 columns, a warp 32 of each: 2 by 4 tiles of 16 rows and 8 columns. Where the
// numbers of a tile lie in the threads is said by the PTX manual, "Matrix fragments for mma.m16n8k16".
.visible .entry glim_multiply_bf16(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .u32 repeat)
{
  .reg .pred %more;
  .reg .b32 %n, %repeat, %thread, %block, %lane, %group, %pair, %warp, %row, %column, %k, %time, %part;
  .reg .b64 %a, %b, %c, %line, %eight, %offset, %at;
  .reg .b32 %x<8>, %y<8>;
  .reg .f32 %s<32>;

  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u64 %c, [c];
  ld.param.u32 %n, [n];
  ld.param.u32 %repeat, [repeat];
  cvta.to.global.u64 %a, %a;
  cvta.to.global.u64 %b, %b;
  cvta.to.global.u64 %c, %c;
  mov.u32 %thread, %tid.x;
  and.b32 %lane, %thread, 31;
  shr.u32 %warp, %thread, 5;
  shr.u32 %group, %lane, 2;
  and.b32 %pair, %lane, 3;
  // The warp's first row and column.
  mov.u32 %block, %ctaid.y;
  shl.b32 %row, %block, 6;
  shr.u32 %part, %warp, 2;
  shl.b32 %part, %part, 5;
  add.u32 %row, %row, %part;
  mov.u32 %block, %ctaid.x;
  shl.b32 %column, %block, 7;
  and.b32 %part, %warp, 3;
  shl.b32 %part, %part, 5;
  add.u32 %column, %column, %part;
  // The thread's first number of a and of b; %line bytes from row to row, %eight over eight of them.
  mul.wide.u32 %line, %n, 2;
  shl.b64 %eight, %line, 3;
  add.u32 %part, %row, %group;
  cvt.u64.u32 %offset, %part;
  mul.lo.u64 %offset, %offset, %line;
  add.u64 %a, %a, %offset;
  add.u32 %part, %column, %group;
  cvt.u64.u32 %offset, %part;
  mul.lo.u64 %offset, %offset, %line;
  add.u64 %b, %b, %offset;
  mul.wide.u32 %offset, %pair, 4;
  add.u64 %a, %a, %offset;
  add.u64 %b, %b, %offset;
  mov.f32 %s0, 0f00000000;
  mov.f32 %s1, 0f00000000;
  mov.f32 %s2, 0f00000000;
  mov.f32 %s3, 0f00000000;
  mov.f32 %s4, 0f00000000;
  mov.f32 %s5, 0f00000000;
  mov.f32 %s6, 0f00000000;
  mov.f32 %s7, 0f00000000;
  mov.f32 %s8, 0f00000000;
  mov.f32 %s9, 0f00000000;
  mov.f32 %s10, 0f00000000;
  mov.f32 %s11, 0f00000000;
  mov.f32 %s12, 0f00000000;
  mov.f32 %s13, 0f00000000;
  mov.f32 %s14, 0f00000000;
  mov.f32 %s15, 0f00000000;
  mov.f32 %s16, 0f00000000;
  mov.f32 %s17, 0f00000000;
  mov.f32 %s18, 0f00000000;
  mov.f32 %s19, 0f00000000;
  mov.f32 %s20, 0f00000000;
  mov.f32 %s21, 0f00000000;
  mov.f32 %s22, 0f00000000;
  mov.f32 %s23, 0f00000000;
  mov.f32 %s24, 0f00000000;
  mov.f32 %s25, 0f00000000;
  mov.f32 %s26, 0f00000000;
  mov.f32 %s27, 0f00000000;
  mov.f32 %s28, 0f00000000;
  mov.f32 %s29, 0f00000000;
  mov.f32 %s30, 0f00000000;
  mov.f32 %s31, 0f00000000;
  mov.u32 %k, 0;

NEXT_SIXTEEN:
  mov.u64 %at, %a;
  ld.global.u32 %x0, [%at];
  ld.global.u32 %x2, [%at+16];
  add.u64 %at, %at, %eight;
  ld.global.u32 %x1, [%at];
  ld.global.u32 %x3, [%at+16];
  add.u64 %at, %at, %eight;
  ld.global.u32 %x4, [%at];
  ld.global.u32 %x6, [%at+16];
  add.u64 %at, %at, %eight;
  ld.global.u32 %x5, [%at];
  ld.global.u32 %x7, [%at+16];
  mov.u64 %at, %b;
  ld.global.u32 %y0, [%at];
  ld.global.u32 %y1, [%at+16];
  add.u64 %at, %at, %eight;
  ld.global.u32 %y2, [%at];
  ld.global.u32 %y3, [%at+16];
  add.u64 %at, %at, %eight;
  ld.global.u32 %y4, [%at];
  ld.global.u32 %y5, [%at+16];
  add.u64 %at, %at, %eight;
  ld.global.u32 %y6, [%at];
  ld.global.u32 %y7, [%at+16];
  mov.u32 %time, 0;
ONCE_MORE:
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s0, %s1, %s2, %s3},
    {%x0, %x1, %x2, %x3}, {%y0, %y1}, {%s0, %s1, %s2, %s3};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s4, %s5, %s6, %s7},
    {%x0, %x1, %x2, %x3}, {%y2, %y3}, {%s4, %s5, %s6, %s7};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s8, %s9, %s10, %s11},
    {%x0, %x1, %x2, %x3}, {%y4, %y5}, {%s8, %s9, %s10, %s11};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s12, %s13, %s14, %s15},
    {%x0, %x1, %x2, %x3}, {%y6, %y7}, {%s12, %s13, %s14, %s15};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s16, %s17, %s18, %s19},
    {%x4, %x5, %x6, %x7}, {%y0, %y1}, {%s16, %s17, %s18, %s19};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s20, %s21, %s22, %s23},
    {%x4, %x5, %x6, %x7}, {%y2, %y3}, {%s20, %s21, %s22, %s23};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s24, %s25, %s26, %s27},
    {%x4, %x5, %x6, %x7}, {%y4, %y5}, {%s24, %s25, %s26, %s27};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%s28, %s29, %s30, %s31},
    {%x4, %x5, %x6, %x7}, {%y6, %y7}, {%s28, %s29, %s30, %s31};
  add.u32 %time, %time, 1;
  setp.lt.u32 %more, %time, %repeat;
  @%more bra ONCE_MORE;
  add.u64 %a, %a, 32;
  add.u64 %b, %b, 32;
  add.u32 %k, %k, 16;
  setp.lt.u32 %more, %k, %n;
  @%more bra NEXT_SIXTEEN;

  mul.wide.u32 %line, %n, 4;
  shl.b64 %eight, %line, 3;
  add.u32 %part, %row, %group;
  cvt.u64.u32 %offset, %part;
  mul.lo.u64 %offset, %offset, %line;
  add.u64 %c, %c, %offset;
  shl.b32 %part, %pair, 1;
  add.u32 %part, %part, %column;
  mul.wide.u32 %offset, %part, 4;
  add.u64 %c, %c, %offset;
  st.global.v2.f32 [%c], {%s0, %s1};
  st.global.v2.f32 [%c+32], {%s4, %s5};
  st.global.v2.f32 [%c+64], {%s8, %s9};
  st.global.v2.f32 [%c+96], {%s12, %s13};
  add.u64 %c, %c, %eight;
  st.global.v2.f32 [%c], {%s2, %s3};
  st.global.v2.f32 [%c+32], {%s6, %s7};
  st.global.v2.f32 [%c+64], {%s10, %s11};
  st.global.v2.f32 [%c+96], {%s14, %s15};
  add.u64 %c, %c, %eight;
  st.global.v2.f32 [%c], {%s16, %s17};
  st.global.v2.f32 [%c+32], {%s20, %s21};
  st.global.v2.f32 [%c+64], {%s24, %s25};
  st.global.v2.f32 [%c+96], {%s28, %s29};
  add.u64 %c, %c, %eight;
  st.global.v2.f32 [%c], {%s18, %s19};
  st.global.v2.f32 [%c+32], {%s22, %s23};
  st.global.v2.f32 [%c+64], {%s26, %s27};
  st.global.v2.f32 [%c+96], {%s30, %s31};
  ret;
}
)ptx";

}  // namespace glim::validate
