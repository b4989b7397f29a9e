// Two products write the halves of what a third one reads, and it reads a half: nothing is joined or cut at run time.
// With bytes of its own for each value, both are launches.
// RUN: gantry compile %s --no-fuse --stop-after=memory -o - | FileCheck %s
// RUN: gantry compile %s --no-fuse --no-reuse --stop-after=memory -o - | FileCheck %s --check-prefix=APART

// CHECK-LABEL: plan.func @main
// CHECK: %[[W:.*]] = plan.buffer size 2048 {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: %[[A:.*]] = plan.buffer size 1024 {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: plan.launch @matmul_0({{.*}}) -> (%[[A]])
// CHECK: %[[B:.*]] = plan.buffer size 1024 {{.*}} {gantry.shares = array<i64: 0, 1024>}
// CHECK: plan.launch @matmul_0({{.*}}) -> (%[[B]])
// CHECK-NEXT: plan.launch @matmul_1(%[[W]],
// CHECK-NEXT: %[[S:.*]] = plan.buffer size 512 {{.*}} {gantry.shares = array<i64: 0, 768>}
// CHECK-NEXT: plan.launch @matmul_2(%[[S]],
// CHECK-NOT: plan.launch @concat
// CHECK-NOT: plan.launch @slice
// CHECK-NOT: plan.copy
// APART-LABEL: plan.func @main
// APART-NOT: gantry.shares
// APART: plan.launch @concat_0
// APART: plan.launch @slice_0
// APART-NOT: gantry.cuts
module {
  func.func @main(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>) -> (tensor<32x16xf32>, tensor<8x16xf32>) {
    %a = gantry.matmul %x, %y : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %b = gantry.matmul %y, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %w = gantry.concat %a, %b {axis = 0 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %c = gantry.matmul %w, %x : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %s = gantry.slice %w {starts = array<i64: 12, 0>, sizes = array<i64: 8, 16>, steps = array<i64: 1, 1>} : (tensor<32x16xf32>) -> tensor<8x16xf32>
    %d = gantry.matmul %s, %y : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    return %c, %d : tensor<32x16xf32>, tensor<8x16xf32>
  }
}
