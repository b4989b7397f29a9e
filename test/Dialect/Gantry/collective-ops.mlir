// What devices of several tasks do together, printed as it was read.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: func.func @exchanges(
// CHECK: gantry.exchange all_gather %{{.*}}, %{{.*}} on ["/job:w/task:0/device:CPU:0", "/job:w/task:1/device:CPU:0"] : (tensor<4xf32>, tensor<2xf32>) -> (tensor<6xf32>, tensor<6xf32>)
// Chunks of 3, 1 and none.
// CHECK: gantry.exchange all_to_all %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<9xf32>, tensor<3xf32>, tensor<0xf32>)
// The first member brings two rows of each chunk.
// CHECK: gantry.exchange all_to_all %{{.*}} on [{{.*}}] rows [2, 1] : (tensor<8xi64>, tensor<4xi64>) -> (tensor<6xi64>, tensor<6xi64>)
// CHECK: gantry.exchange broadcast %{{.*}} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @exchanges(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<8xi64>, %d: tensor<4xi64>) {
  %0:2 = gantry.exchange all_gather %a, %b on ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"] : (tensor<4xf32>, tensor<2xf32>) -> (tensor<6xf32>, tensor<6xf32>)
  %1:3 = gantry.exchange all_to_all %a, %a, %a on ["/job:w/task:{0..2}/CPU:0"] : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<9xf32>, tensor<3xf32>, tensor<0xf32>)
  %2:2 = gantry.exchange all_to_all %c, %d on ["/job:w/task:{0..1}/CPU:0"] rows [2, 1] : (tensor<8xi64>, tensor<4xi64>) -> (tensor<6xi64>, tensor<6xi64>)
  %3:2 = gantry.exchange broadcast %a on ["/job:w/task:{0..2}/CPU:0"] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: func.func @rows(
// CHECK: gantry.add_rows %{{.*}} : (tensor<5x3xf16>) -> tensor<3xf16>
// Seven parts: of the tree's {0..3} and {4..6} the first has {0,1}, {2}, {3} as rows, the second {4,5}, {6}.
// CHECK: gantry.add_rows %{{.*}} {parts = array<i64: 2, 1, 1, 2, 1>} : (tensor<5x3xf16>) -> tensor<3xf16>
func.func @rows(%x: tensor<5x3xf16>) {
  %0 = gantry.add_rows %x : (tensor<5x3xf16>) -> tensor<3xf16>
  %1 = gantry.add_rows %x {parts = array<i64: 2, 1, 1, 2, 1>} : (tensor<5x3xf16>) -> tensor<3xf16>
  return
}
