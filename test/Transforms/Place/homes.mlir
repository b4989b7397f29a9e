// Where results of control flow live, and arithmetic that belongs on the host.
// RUN: gantry-opt %s --gantry-assign-devices --gantry-verify-placed --mlir-print-local-scope | FileCheck %s

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {

// Both branches agree; else the better of the two; constants and ends have no say.
// CHECK-LABEL: @branches
// CHECK: gantry.homes = [#gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">, #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">, #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">]
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = gantry.constant dense<1.0> : tensor<4xf32>
  %0:3 = gantry.if %c -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %1 = gantry.neg %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1, %1, %one : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } else {
    %1 = gantry.abs %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1, %x, %one : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : tensor<i1>
  %2 = gantry.relu %0#2 : (tensor<4xf32>) -> tensor<4xf32>
  return %0#0, %0#1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A loop: the counter and its comparison stay on the host, the value is where the body makes it.
// CHECK-LABEL: @p7_loop
// CHECK: gantry.compare {{.*}}device:CPU:0">{{.*}}<"inferred", "its value steers control flow on the host">
// CHECK: gantry.add {{.*}}device:CPU:0">{{.*}}<"inferred"
// CHECK: gantry.exp {{.*}}device:GPU:0">
// CHECK: gantry.homes = [#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">, #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">]
func.func @p7_loop(%i: tensor<i64>, %n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %one = gantry.constant dense<1> : tensor<i64>
  %0:3 = gantry.while (%i, %x, %x) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%j: tensor<i64>, %a: tensor<4xf32>, %same: tensor<4xf32>):
    %1 = gantry.compare lt, %j, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %1 : tensor<i1>
  } do {
  ^bb0(%j: tensor<i64>, %a: tensor<4xf32>, %same: tensor<4xf32>):
    %2 = gantry.add %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %3 = gantry.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %2, %3, %same : tensor<i64>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// Integers that steer nothing are ordinary.
// CHECK-LABEL: @int32_is_ordinary
// CHECK: gantry.add {{.*}}device:GPU:0">
func.func @int32_is_ordinary(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = gantry.add %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// What says whether a loop would go on is on the host as its condition is; a check of indices is with them.
// CHECK-LABEL: @checks_of_loops(
// CHECK: gantry.select {{.*}}device:CPU:0">{{.*}}<"inferred", "its value steers control flow on the host">
// CHECK: gantry.first_bad_index {{.*}}device:CPU:0">
// CHECK: gantry.first_bad_index {{.*}}device:GPU:0">
func.func @checks_of_loops(%c: tensor<i1>, %i: tensor<i64>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %eight = gantry.constant dense<8> : tensor<i64>
  %0 = gantry.select %c, %eight, %zero : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
  %1 = gantry.first_bad_index %0 {sizes = array<i64: 8>} : (tensor<i64>) -> tensor<2xi64>
  gantry.assert_indices %1 of "rounds" shape [] sizes [8] in "loop" is "While" says "goes on" : tensor<2xi64>
  %2 = gantry.first_bad_index %i {sizes = array<i64: 8>} : (tensor<i64>) -> tensor<2xi64>
  gantry.assert_indices %2 of "i" shape [] sizes [8] in "pick" is "Gather" : tensor<2xi64>
  return
}

}
