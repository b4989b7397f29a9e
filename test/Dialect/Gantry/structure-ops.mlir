// Scopes, control flow, copies, kernels.
// Every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: @on(
// CHECK: %[[Y:.*]] = gantry.on "GPU:1" -> (tensor<4xf32>) {
// CHECK:   %[[R:.*]] = gantry.relu
// CHECK:   gantry.yield %[[R]] : tensor<4xf32>
// CHECK: return %[[Y]]
func.func @on(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// A scope without results needs no yield.
// CHECK-LABEL: @on_without_results(
// CHECK: gantry.on "/job:worker/device:CPU:0" {
// CHECK-NEXT: }
func.func @on_without_results() {
  gantry.on "/job:worker/device:CPU:0" {
  }
  return
}

// CHECK-LABEL: @copy(
// CHECK: gantry.copy %arg0 to "GPU:1" : tensor<4xf32>
// CHECK: gantry.copy %arg0 to "CPU:0" force : tensor<4xf32>
func.func @copy(%x: tensor<4xf32>) {
  %y = gantry.copy %x to "GPU:1" : tensor<4xf32>
  %z = gantry.copy %x to "CPU:0" force : tensor<4xf32>
  return
}

// CHECK-LABEL: @if(
// CHECK: gantry.if %arg0 -> (tensor<4xf32>) {
// CHECK-NEXT: gantry.yield %arg1 : tensor<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: gantry.yield %arg2 : tensor<4xf32>
// CHECK-NEXT: } : tensor<i1>
func.func @if(%c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %y = gantry.if %c -> (tensor<4xf32>) {
    gantry.yield %a : tensor<4xf32>
  } else {
    gantry.yield %b : tensor<4xf32>
  } : tensor<i1>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @while(
// CHECK: gantry.while(%arg0) : (tensor<i64>) -> tensor<i64> {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<i64>):
// CHECK-NEXT:   gantry.compare lt, %[[I]], %arg1
// CHECK-NEXT:   gantry.yield %{{.*}} : tensor<i1>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[J:.*]]: tensor<i64>):
// CHECK-NEXT:   gantry.add %[[J]], %arg2
func.func @while(%x: tensor<i64>, %n: tensor<i64>, %one: tensor<i64>) -> tensor<i64> {
  %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %0 = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %1 : tensor<i64>
  }
  return %y : tensor<i64>
}

// CHECK-LABEL: @launch(
// CHECK: gantry.launch @kernels::@relu_0(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: gantry.launch @kernels::@relu_0(%arg0) ops [#gantry.launched<"Relu">] : (tensor<4xf32>) -> tensor<4xf32>
func.func @launch(%x: tensor<4xf32>) {
  %y = gantry.launch @kernels::@relu_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = gantry.launch @kernels::@relu_0(%x) ops [#gantry.launched<"Relu">] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: module @kernels
// CHECK: gantry.kernel @relu_0 {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT:   %[[R:.*]] = gantry.relu %[[X]]
// CHECK-NEXT:   gantry.yield %[[R]]
module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
  gantry.kernel @relu_0 {
  ^bb0(%x: tensor<4xf32>):
    %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
}
