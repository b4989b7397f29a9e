// Operands that several kernels, or the rounds of a loop, read in panels are packed by a kernel of their own.
// RUN: gantry-opt %s --gantry-form-kernels --gantry-pack-operands --gantry-verify-kernels | FileCheck %s
// RUN: gantry-opt %s --gantry-form-kernels --gantry-pack-operands --gantry-lower-kernels --gantry-lower-to-plan | FileCheck %s --check-prefix=PLAN

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {

// In front of the first of three; all take the panels, 24 columns filled up to 32. What two products read is packed by these.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x24xf32>, %[[V:.*]]: tensor<8x24xf32>)
// CHECK-NEXT: %[[PANELS:.*]] = gantry.launch @kernels_cpu::@pack_0(%[[W]]) ops [#gantry.launched<"Transpose", name = "first/panels",
// CHECK-SAME: bytes = 1792, decision = <"inferred", "packed once for the products that read it">, kind = "movement">] {gantry.device = #{{.*}}} : (tensor<8x24xf32>) -> tensor<256xf32>
// CHECK-NEXT: gantry.launch @kernels_cpu::@matmul_0_packed_0(%[[X]], %[[PANELS]])
// CHECK: gantry.launch @kernels_cpu::@matmul_0_packed_0(%{{.*}}, %[[PANELS]])
// CHECK: gantry.launch @kernels_cpu::@matmul_0_packed_0(%{{.*}}, %[[PANELS]])
// CHECK: gantry.launch @kernels_cpu::@matmul_0(%{{.*}}, %[[V]])
// CHECK: gantry.launch @kernels_cpu::@matmul_0(%{{.*}}, %[[V]])
// PLAN-LABEL: plan.func @shared
// PLAN: plan.buffer {{.*}}size 1024
func.func @shared(%x: tensor<4x8xf32>, %w: tensor<8x24xf32>, %v: tensor<8x24xf32>)
    -> (tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>) {
  %0 = gantry.matmul %x, %w {gantry.device = #cpu, gantry.name = "first"} : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %y = gantry.relu %x {gantry.device = #cpu} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = gantry.matmul %y, %w {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %z = gantry.neg %x {gantry.device = #cpu} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = gantry.matmul %z, %w {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %3 = gantry.matmul %y, %v {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %4 = gantry.matmul %z, %v {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  return %0, %1, %2, %3, %4 : tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>
}

// In front of a loop that does not change it, even where the loop reads it by a view. What the loop carries is packed there.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<256xf32>)
// CHECK: %[[PANELS:.*]] = gantry.launch @kernels_cpu::@pack_1(
// CHECK-NEXT: gantry.while
// CHECK: do {
// CHECK: gantry.launch @kernels_cpu::@matmul_1_packed_0(%{{.*}}, %[[PANELS]])
// CHECK: gantry.launch @kernels_cpu::@matmul_1(%{{.*}}, %{{.*}})
func.func @loop(%x: tensor<4x16xf32>, %w: tensor<256xf32>) -> tensor<16x16xf32> {
  %first = gantry.reshape %w : (tensor<256xf32>) -> tensor<16x16xf32>
  %r:2 = gantry.while (%first, %x) : (tensor<16x16xf32>, tensor<4x16xf32>) -> (tensor<16x16xf32>, tensor<4x16xf32>) {
  ^bb0(%m: tensor<16x16xf32>, %s: tensor<4x16xf32>):
    %go = gantry.constant dense<true> : tensor<i1>
    gantry.yield %go : tensor<i1>
  } do {
  ^bb0(%m: tensor<16x16xf32>, %s: tensor<4x16xf32>):
    %v = gantry.reshape %w : (tensor<256xf32>) -> tensor<16x16xf32>
    %0 = gantry.matmul %s, %v {gantry.device = #cpu} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %1 = gantry.matmul %0, %m {gantry.device = #cpu} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %2 = gantry.relu %m {gantry.device = #cpu} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    gantry.yield %2, %1 : tensor<16x16xf32>, tensor<4x16xf32>
  }
  return %r#0 : tensor<16x16xf32>
}

// Each way to read it has panels of its own. A single row goes through columns of neighbours where they lie, many rows pack for
// themselves, and a GPU packs nothing.
// CHECK-LABEL: func.func @ways(
// CHECK-NOT: @pack_
// CHECK: return
func.func @ways(%many: tensor<129x16xf32>, %x: tensor<4x16xf32>, %row: tensor<1x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>, %u: tensor<16x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<129x16xf32>, tensor<129x16xf32>) {
  %7 = gantry.matmul %many, %w {transpose_b, gantry.device = #cpu} : (tensor<129x16xf32>, tensor<16x16xf32>) -> tensor<129x16xf32>
  %8 = gantry.matmul %7, %w {transpose_b, gantry.device = #cpu} : (tensor<129x16xf32>, tensor<16x16xf32>) -> tensor<129x16xf32>
  %0 = gantry.matmul %x, %w {gantry.device = #cpu} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %1 = gantry.matmul %x, %w {transpose_b, gantry.device = #cpu} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %2 = gantry.matmul %row, %v {transpose_b, gantry.device = #cpu} : (tensor<1x16xf32>, tensor<16x16xf32>) -> tensor<1x16xf32>
  %more = gantry.relu %row {gantry.device = #cpu} : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %3 = gantry.matmul %more, %v {transpose_b, gantry.device = #cpu} : (tensor<1x16xf32>, tensor<16x16xf32>) -> tensor<1x16xf32>
  %there = gantry.copy %u to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<16x16xf32>
  %left = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4x16xf32>
  %4 = gantry.matmul %left, %there {gantry.device = #gpu} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %5 = gantry.relu %left {gantry.device = #gpu} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %6 = gantry.matmul %5, %there {gantry.device = #gpu} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  return %0, %1, %2, %3, %4, %6, %7, %8 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<129x16xf32>, tensor<129x16xf32>
}

// Columns that lie along the rows' terms become rows of panels, of two matrices here.
// CHECK-LABEL: func.func @turned(
// CHECK: gantry.launch @kernels_cpu::@pack_2(
// CHECK: gantry.launch @kernels_cpu::@matmul_5_packed_0(
func.func @turned(%x: tensor<2x4x8xf32>, %w: tensor<2x24x8xf32>) -> (tensor<2x4x24xf32>, tensor<2x4x24xf32>) {
  %0 = gantry.matmul %x, %w {transpose_b, gantry.device = #cpu} : (tensor<2x4x8xf32>, tensor<2x24x8xf32>) -> tensor<2x4x24xf32>
  %y = gantry.relu %x {gantry.device = #cpu} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = gantry.matmul %y, %w {transpose_b, gantry.device = #cpu} : (tensor<2x4x8xf32>, tensor<2x24x8xf32>) -> tensor<2x4x24xf32>
  return %0, %1 : tensor<2x4x24xf32>, tensor<2x4x24xf32>
}

// CHECK: module @kernels_cpu
// CHECK: gantry.kernel @matmul_0_packed_0 attributes {gantry.layouts = [unit, {columns = array<i64: 24, 1>, matrices = array<i64>, rows = array<i64: 8, 24>, width = 32 : i64}]
// CHECK: gantry.kernel @matmul_5_packed_0 attributes {gantry.layouts
// CHECK: gantry.kernel @pack_0
// CHECK: %[[ALL:.*]] = gantry.pad %{{.*}}high = array<i64: 0, 0, 8>
// CHECK: %[[PARTS:.*]] = gantry.reshape %[[ALL]] : (tensor<1x8x32xf32>) -> tensor<1x8x1x32xf32>
// CHECK: gantry.transpose %[[PARTS]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: gantry.kernel @pack_2
// CHECK: %[[ALL:.*]] = gantry.pad %{{.*}}high = array<i64: 0, 8, 0>
// CHECK: %[[PARTS:.*]] = gantry.reshape %[[ALL]] : (tensor<2x32x8xf32>) -> tensor<2x1x32x8xf32>
// CHECK: gantry.transpose %[[PARTS]] {permutation = array<i64: 0, 1, 3, 2>}
}
