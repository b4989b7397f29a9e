// Where most is held on a device, ops that go through their operands row by row run once for each piece of the rows.
// RUN: gantry-opt %s --gantry-split-batch="pieces=1,2" --split-input-file | FileCheck %s
// RUN: gantry-opt %s --gantry-split-batch="pieces=2,1" --split-input-file | FileCheck %s --check-prefix=NONE
// NONE-NOT: /rows
// RUN: gantry-opt %s --gantry-split-batch="pieces=1,2" --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: over the limit: GPU:0: 6 ops from 'a' to 'd' run once for each of 2 pieces of the batch
// REMARK-NOT: remark
// RUN: gantry-opt %s --gantry-split-batch="pieces=1,4" --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: remark: over the limit: GPU:0: 'up' runs once for each of 4 pieces of the batch

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// The wide values between two narrow ones: a product, what is elementwise with a row that all share, rows under another
// shape, a softmax along a row, and the product back. What follows needs all rows and runs once.
// CHECK-LABEL: func.func @wide(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x4xf32>
// CHECK-DAG: %[[UP:.*]] = gantry.constant {gantry.name = "up"}
// CHECK-DAG: %[[BIAS:.*]] = gantry.constant {gantry.name = "bias"}
// CHECK: %[[X0:.*]] = gantry.slice %[[X]] {gantry.device = {{.*}}GPU:0">, gantry.name = "input/rows_0", gantry.placement = #gantry.decision<"inferred", "beside the pieces of the batch">, sizes = array<i64: 4, 4>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[A0:.*]] = gantry.matmul %[[X0]], %[[UP]] {{.*}}name = "a/rows_0"{{.*}} -> tensor<4x512xf32>
// CHECK: %[[B0:.*]] = gantry.add %[[A0]], %[[BIAS]] {{.*}} -> tensor<4x512xf32>
// CHECK: %[[V0:.*]] = gantry.reshape %[[B0]] : (tensor<4x512xf32>) -> tensor<16x128xf32>
// CHECK: %[[S0:.*]] = gantry.softmax %[[V0]] {{.*}} -> tensor<16x128xf32>
// CHECK: %[[R0:.*]] = gantry.reshape %[[S0]] : (tensor<16x128xf32>) -> tensor<4x512xf32>
// CHECK: %[[D0:.*]] = gantry.matmul %[[R0]], {{.*}} -> tensor<4x4xf32>
// CHECK: gantry.slice %[[X]] {{.*}}starts = array<i64: 4, 0>
// CHECK: %[[D1:.*]] = gantry.matmul {{.*}}name = "d/rows_1"{{.*}} -> tensor<4x4xf32>
// CHECK: %[[D:.*]] = gantry.concat %[[D0]], %[[D1]] {axis = 0 : i64, gantry.device = {{.*}}GPU:0">, gantry.name = "d/rows"
// CHECK: gantry.reduce_sum %[[D]] {axes = array<i64: 0>
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @wide(%x: tensor<8x4xf32> {gantry.device = #gpu}) -> (tensor<4xf32> {gantry.device = #gpu}) {
    %up = gantry.constant {gantry.name = "up"} dense<1.0> : tensor<4x512xf32>
    %bias = gantry.constant {gantry.name = "bias"} dense<2.0> : tensor<512xf32>
    %down = gantry.constant {gantry.name = "down"} dense<3.0> : tensor<512x4xf32>
    %a = gantry.matmul %x, %up {gantry.device = #gpu, gantry.name = "a"} : (tensor<8x4xf32>, tensor<4x512xf32>) -> tensor<8x512xf32>
    %b = gantry.add %a, %bias {gantry.device = #gpu, gantry.name = "b"} : (tensor<8x512xf32>, tensor<512xf32>) -> tensor<8x512xf32>
    %v = gantry.reshape %b : (tensor<8x512xf32>) -> tensor<32x128xf32>
    %s = gantry.softmax %v {axis = 1 : i64, gantry.device = #gpu, gantry.name = "s"} : (tensor<32x128xf32>) -> tensor<32x128xf32>
    %r = gantry.reshape %s : (tensor<32x128xf32>) -> tensor<8x512xf32>
    %d = gantry.matmul %r, %down {gantry.device = #gpu, gantry.name = "d"} : (tensor<8x512xf32>, tensor<512x4xf32>) -> tensor<8x4xf32>
    %y = gantry.reduce_sum %d {axes = array<i64: 0>, gantry.device = #gpu, gantry.name = "y"} : (tensor<8x4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A softmax along the rows needs all of them, and so does a product with the wide value on its right.
// CHECK-LABEL: func.func @mixed(
// CHECK-NOT: gantry.slice
// CHECK-NOT: gantry.concat
// CHECK: return
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @mixed(%x: tensor<8x4xf32> {gantry.device = #gpu}, %l: tensor<1x8xf32> {gantry.device = #gpu}) -> (tensor<1x512xf32> {gantry.device = #gpu}) {
    %up = gantry.constant {gantry.name = "up"} dense<1.0> : tensor<4x512xf32>
    %a = gantry.matmul %x, %up {gantry.device = #gpu, gantry.name = "a"} : (tensor<8x4xf32>, tensor<4x512xf32>) -> tensor<8x512xf32>
    %s = gantry.softmax %a {axis = 0 : i64, gantry.device = #gpu, gantry.name = "s"} : (tensor<8x512xf32>) -> tensor<8x512xf32>
    %y = gantry.matmul %l, %s {gantry.device = #gpu, gantry.name = "y"} : (tensor<1x8xf32>, tensor<8x512xf32>) -> tensor<1x512xf32>
    return %y : tensor<1x512xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// One op alone: of what it makes only the piece is held that is on its way to another device.
// CHECK-LABEL: func.func @one(
// CHECK-NOT: gantry.slice
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @one(%x: tensor<8x4xf32> {gantry.device = #gpu}) -> (tensor<8x512xf32> {gantry.device = #cpu}) {
    %weights = gantry.constant {gantry.name = "weights"} dense<1.0> : tensor<4x512xf32>
    %up = gantry.matmul %x, %weights {gantry.device = #gpu, gantry.name = "up"} : (tensor<8x4xf32>, tensor<4x512xf32>) -> tensor<8x512xf32>
    return %up : tensor<8x512xf32>
  }
}
