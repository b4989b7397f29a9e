// A loop whose condition comes from a GPU copies in every pass, which no budget can hold: the search
// sends it elsewhere (spec P11, X4).
// RUN: gantry compile %s -o %t.free.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto 2>/dev/null
// RUN: gantry explain %t.free.gantry --op inside | FileCheck %s --check-prefix=FREE
// FREE: Compare 'inside'
// FREE: device GPU:0
// FREE-NEXT: why auto
// FREE: in a branch or loop d2h

// What is not in the loop stays where it is best.
// RUN: gantry compile %s -o %t.tight.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto --max-copy=d2h:1MiB 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-NOT: error
// REMARK: remark: automatic placement of 'main': {{.*}}, default policy {{[0-9.]+ us}}, which is over the copy budget, follow
// RUN: gantry explain %t.tight.gantry --all | FileCheck %s --check-prefix=TIGHT
// TIGHT: MatMul before GPU:0
// TIGHT: Compare inside CPU:0
// TIGHT-NOT: in a branch or loop

// What a request keeps there remains an error, and the search ends.
// RUN: sed -e 's/inside"/inside", gantry.device = #gantry.device<"GPU:1">/' %s > %t.mlir
// RUN: not gantry compile %t.mlir -o %t.no.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=auto --max-copy=h2d:1MiB,d2h:1MiB,d2d:1MiB 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: {{.*}} per run d2h, the budget is 1 MiB and some copies are in a loop

func.func @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %n = gantry.constant dense<3.0> : tensor<f32>
  %one = gantry.constant dense<1.0> : tensor<f32>
  %w = gantry.constant dense<0.003> : tensor<256x256xf32>
  %p = gantry.matmul %x, %w {gantry.name = "before"} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %s = gantry.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<256x256xf32>) -> tensor<f32>
  %y:2 = gantry.while (%s, %p) : (tensor<f32>, tensor<256x256xf32>) -> (tensor<f32>, tensor<256x256xf32>) {
  ^bb0(%i: tensor<f32>, %v: tensor<256x256xf32>):
    %0 = gantry.compare lt, %i, %n {gantry.name = "inside"} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<f32>, %v: tensor<256x256xf32>):
    %2 = gantry.matmul %v, %w : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %3 = gantry.reduce_sum %2 {axes = array<i64: 0, 1>} : (tensor<256x256xf32>) -> tensor<f32>
    gantry.yield %3, %2 : tensor<f32>, tensor<256x256xf32>
  }
  return %y#1 : tensor<256x256xf32>
}
