// A sum of all elements goes row by row first, so that pieces of the rows go as far as there; what they gave is added up behind
// them, as it is without pieces.
// RUN: gantry-opt %s --gantry-split-reductions --gantry-split-batch="pieces=2" | FileCheck %s
// RUN: gantry-opt %s --gantry-split-batch="pieces=2" | FileCheck %s --check-prefix=WHOLE

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}], logical = [{physical = 0}]}>} {

// CHECK-LABEL: func.func @sum_of_a_product(
// CHECK: %[[A0:.*]] = gantry.matmul {{.*}} gantry.name = "product/rows_0"{{.*}} -> tensor<4x20000xf32>
// CHECK: %[[S0:.*]] = gantry.reduce_sum %[[A0]] {axes = array<i64: 1>, {{.*}} gantry.name = "sum/parts/rows_0"} : (tensor<4x20000xf32>) -> tensor<4xf32>
// CHECK: %[[A1:.*]] = gantry.matmul {{.*}} gantry.name = "product/rows_1"{{.*}} -> tensor<4x20000xf32>
// CHECK: %[[S1:.*]] = gantry.reduce_sum %[[A1]] {{.*}} : (tensor<4x20000xf32>) -> tensor<4xf32>
// CHECK: %[[S:.*]] = gantry.concat %[[S0]], %[[S1]] {axis = 0 : i64, {{.*}} -> tensor<8xf32>
// CHECK: gantry.reduce_sum %[[S]] {axes = array<i64: 0>, {{.*}} gantry.name = "sum"} : (tensor<8xf32>) -> tensor<f32>
// WHOLE-NOT: /rows
func.func @sum_of_a_product(%x: tensor<8x4xf32> {gantry.device = #cpu}, %w: tensor<4x20000xf32> {gantry.device = #cpu}) -> (tensor<f32> {gantry.device = #cpu}) {
  %a = gantry.matmul %x, %w {gantry.device = #cpu, gantry.name = "product"} : (tensor<8x4xf32>, tensor<4x20000xf32>) -> tensor<8x20000xf32>
  %s = gantry.reduce_sum %a {axes = array<i64: 0, 1>, gantry.device = #cpu, gantry.name = "sum"} : (tensor<8x20000xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// So does a sum over very many rows, by parts of 250 of them, with the columns beside.
// CHECK-LABEL: func.func @sum_over_rows(
// CHECK: %[[A0:.*]] = gantry.matmul {{.*}} gantry.name = "product/rows_0"{{.*}} -> tensor<5000x100000xf32>
// CHECK: %[[V0:.*]] = gantry.reshape %[[A0]] {{.*}} -> tensor<20x250x100000xf32>
// CHECK: %[[S0:.*]] = gantry.reduce_sum %[[V0]] {axes = array<i64: 1>, {{.*}} gantry.name = "sum/parts/rows_0"} : {{.*}} -> tensor<20x100000xf32>
// CHECK: %[[A1:.*]] = gantry.matmul {{.*}} gantry.name = "product/rows_1"{{.*}} -> tensor<5000x100000xf32>
// CHECK: %[[S:.*]] = gantry.concat %[[S0]], %{{.*}} {axis = 0 : i64, {{.*}} -> tensor<40x100000xf32>
// CHECK: gantry.reduce_sum %[[S]] {axes = array<i64: 0>, {{.*}} gantry.name = "sum"} : {{.*}} -> tensor<100000xf32>
func.func @sum_over_rows(%x: tensor<10000x4xf32> {gantry.device = #cpu}, %w: tensor<4x100000xf32> {gantry.device = #cpu}) -> (tensor<100000xf32> {gantry.device = #cpu}) {
  %a = gantry.matmul %x, %w {gantry.device = #cpu, gantry.name = "product"} : (tensor<10000x4xf32>, tensor<4x100000xf32>) -> tensor<10000x100000xf32>
  %s = gantry.reduce_sum %a {axes = array<i64: 0>, gantry.device = #cpu, gantry.name = "sum"} : (tensor<10000x100000xf32>) -> tensor<100000xf32>
  return %s : tensor<100000xf32>
}
}
