// Automatic placement within a budget for copies (spec P11, X4).

// The second product is larger than the first and soonest done where that one has to be, on GPU:1.
// RUN: gantry compile %s -o %t.free.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto 2>/dev/null
// RUN: env COLUMNS=200 gantry explain %t.free.gantry --all | FileCheck %s --check-prefix=FREE
// FREE: MatMul second GPU:1

// Only the first one's result may come back, so that the second goes to the host.
// RUN: gantry compile %s -o %t.tight.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto --max-copy=d2h:64KiB 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: automatic placement of 'main': predicted step {{.*}}, default policy {{[0-9.]+ us}}, which is over the copy budget, follow
// RUN: env COLUMNS=200 gantry explain %t.tight.gantry --all | FileCheck %s --check-prefix=TIGHT
// TIGHT: MatMul second CPU:0

// RUN: not gantry compile %s -o %t.no.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto --max-copy=d2h:63KiB 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: remark: automatic placement of 'main': {{.*}}; nothing was found that is within the limits and the copy budget
// NONE: error: {{.*}}'@main' copies 64 KiB per run d2h, the budget is 63 KiB; place their ends on one device, or raise --max-copy

// The attribute is a budget as the flag is, and the one that counts.
// RUN: sed -e 's/attributes {}/attributes {gantry.max_copy = "d2h:64KiB"}/' %s > %t.mlir
// RUN: gantry compile %t.mlir -o %t.own.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto --max-copy=d2h:1MiB 2>/dev/null
// RUN: env COLUMNS=200 gantry explain %t.own.gantry --all | FileCheck %s --check-prefix=TIGHT

// A budget that cannot be read is the check's to tell.
// RUN: not gantry compile %s -o %t.no.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto --max-copy=d2h 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: copy budget 'd2h', column 5: '' is not a byte count

func.func @main(%x: tensor<256x256xf32>) -> (tensor<256x512xf32> {gantry.name = "y"}) attributes {} {
  %w0 = gantry.constant dense<0.01> : tensor<256x64xf32>
  %w1 = gantry.constant dense<0.02> : tensor<64x512xf32>
  %0 = gantry.matmul %x, %w0 {gantry.name = "first", gantry.device = #gantry.device<"GPU:1">} : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %1 = gantry.matmul %0, %w1 {gantry.name = "second"} : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  return %1 : tensor<256x512xf32>
}
