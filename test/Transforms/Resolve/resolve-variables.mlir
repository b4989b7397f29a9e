// RUN: gantry-opt %s --split-input-file --gantry-resolve-variables --mlir-print-local-scope | FileCheck %s --enable-var-scope

gantry.variable @w = dense<0.5> : tensor<4xf32>
gantry.variable @unused = dense<0.5> : tensor<4xf32>
gantry.variable @step = dense<0> : tensor<i64>

// Arguments in the order of the declarations, after the function's own; what is written is returned.
// A read sees what was assigned before it, and nothing that comes after it.
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[ONE:.*]]: tensor<i64>,
// CHECK-SAME: %[[W:.*]]: tensor<4xf32> {gantry.name = "w", gantry.variable = @w}, %[[STEP:.*]]: tensor<i64> {gantry.name = "step", gantry.variable = @step})
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {gantry.name = "w", gantry.variable = @w}, tensor<i64> {gantry.name = "step", gantry.variable = @step})
// CHECK-NEXT: %[[D:.*]] = gantry.sub %[[W]], %[[X]]
// CHECK-NEXT: %[[NEW:.*]] = gantry.update %[[D]] {gantry.variable = @w}
// CHECK-NEXT: %[[NEXT:.*]] = gantry.update_add %[[STEP]], %[[ONE]] {gantry.variable = @step}
// CHECK-NEXT: return %[[W]], %[[NEW]], %[[NEW]], %[[NEXT]]
func.func @train(%x: tensor<4xf32>, %one: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %old = gantry.read @w : tensor<4xf32>
  %d = gantry.sub %old, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  gantry.assign @w, %d : tensor<4xf32>
  gantry.assign_add @step, %one : tensor<i64>
  %new = gantry.read @w : tensor<4xf32>
  return %old, %new : tensor<4xf32>, tensor<4xf32>
}

// What is only read is no result.
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: %[[W:.*]]: tensor<4xf32> {gantry.name = "w", gantry.variable = @w}) -> tensor<4xf32>
// CHECK-NEXT: return %[[W]]
func.func @predict() -> tensor<4xf32> {
  %0 = gantry.read @w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A branch yields what either side assigned.
// CHECK-LABEL: func.func @branch(
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[ONE:.*]]: tensor<i64>, %[[STEP:.*]]: tensor<i64> {
// CHECK-NEXT: %[[NEXT:.*]] = gantry.if %[[C]] -> (tensor<i64>) {
// CHECK-NEXT:   %[[SUM:.*]] = gantry.update_add %[[STEP]], %[[ONE]]
// CHECK-NEXT:   gantry.yield %[[SUM]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   gantry.yield %[[STEP]]
// CHECK: return %[[NEXT]]
func.func @branch(%c: tensor<i1>, %one: tensor<i64>) {
  gantry.if %c {
    gantry.assign_add @step, %one : tensor<i64>
    gantry.yield
  } else {
    gantry.yield
  } : tensor<i1>
  return
}

// A loop carries it.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[N:.*]]: tensor<i64>, %[[ONE:.*]]: tensor<i64>, %[[STEP:.*]]: tensor<i64> {
// CHECK-NEXT: %[[NEXT:.*]] = gantry.while(%[[STEP]])
// CHECK-NEXT: ^bb0(%[[SEEN:.*]]: tensor<i64>):
// CHECK-NEXT:   gantry.compare lt, %[[SEEN]], %[[N]]
// CHECK: ^bb0(%[[NOW:.*]]: tensor<i64>):
// CHECK-NEXT:   %[[SUM:.*]] = gantry.update_add %[[NOW]], %[[ONE]]
// CHECK-NEXT:   gantry.yield %[[SUM]]
// CHECK: return %[[NEXT]], %[[NEXT]]
func.func @loop(%n: tensor<i64>, %one: tensor<i64>) -> tensor<i64> {
  gantry.while () : () -> () {
    %now = gantry.read @step : tensor<i64>
    %more = gantry.compare lt, %now, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
    gantry.assign_add @step, %one : tensor<i64>
    gantry.yield
  }
  %0 = gantry.read @step : tensor<i64>
  return %0 : tensor<i64>
}

// The declaration's request is the argument's; a read that asks for a device is a copy, an update
// keeps its request for Place to judge.
// -----
gantry.variable @w {gantry.device = #gantry.device<"GPU:1">} = dense<0.5> : tensor<4xf32>
// CHECK-LABEL: func.func @requests(
// CHECK-SAME: %[[W:.*]]: tensor<4xf32> {gantry.device = #gantry.device<"GPU:1">, gantry.name = "w", gantry.variable = @w})
// CHECK-NEXT: %[[COPY:.*]] = gantry.copy %[[W]] to "CPU:0" {gantry.soft = #gantry<soft prefer>}
// CHECK-NEXT: %[[NEW:.*]] = gantry.update %[[COPY]] {gantry.device = #gantry.device<"GPU:0">, gantry.variable = @w}
func.func @requests() {
  %0 = gantry.read @w {gantry.device = #gantry.device<"CPU:0">, gantry.soft = #gantry<soft prefer>} : tensor<4xf32>
  gantry.assign @w, %0 {gantry.device = #gantry.device<"GPU:0">} : tensor<4xf32>
  return
}

// Replicas have mirrors, which an assignment outside of them reaches too; the central one is shared.
// -----
// CHECK: gantry.variable @w {gantry.device = #gantry.device<"GPU:0">} = dense<5.000000e-01>
// CHECK-NEXT: gantry.variable @"w/replica_1" mirror of @w {gantry.device = #gantry.device<"GPU:1">} = dense<5.000000e-01>
// CHECK-NEXT: gantry.variable central @scale = dense<2.000000e+00>
gantry.variable @w = dense<0.5> : tensor<4xf32>
gantry.variable central @scale = dense<2.0> : tensor<f32>
// CHECK-LABEL: func.func @mirrored(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[W0:.*]]: tensor<4xf32> {{{.*}}gantry.variable = @w}, %[[W1:.*]]: tensor<4xf32> {{{.*}}gantry.variable = @"w/replica_1"}, %[[S:.*]]: tensor<f32> {{{.*}}gantry.variable = @scale})
// CHECK-NEXT: %[[NEW:.*]]:2 = gantry.replicate(%[[W0]], %[[W1]]) on ["GPU:0", "GPU:1"] takes [per_replica] gives [per_replica]
// CHECK-NEXT: ^bb0(%[[OWN:.*]]: tensor<4xf32>):
// CHECK-NEXT:   %[[P:.*]] = gantry.mul %[[OWN]], %[[S]]
// CHECK-NEXT:   %[[U:.*]] = gantry.update %[[P]] {gantry.variable = @w}
// CHECK-NEXT:   gantry.yield %[[U]]
// CHECK: %[[A0:.*]] = gantry.update_add %[[NEW]]#0, %[[X]] {gantry.variable = @w}
// CHECK-NEXT: %[[A1:.*]] = gantry.update_add %[[NEW]]#1, %[[X]] {gantry.variable = @"w/replica_1"}
// CHECK-NEXT: return %[[A0]], %[[A1]]
func.func @mirrored(%x: tensor<4xf32>) {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    %w = gantry.read @w : tensor<4xf32>
    %s = gantry.read @scale : tensor<f32>
    %p = gantry.mul %w, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    gantry.assign @w, %p : tensor<4xf32>
    gantry.yield
  }
  gantry.assign_add @w, %x : tensor<4xf32>
  return
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>
gantry.variable @mean = dense<0.0> : tensor<4xf32>

// What is assigned inside of a gradient is yielded in front of the gradients, and what comes behind
// reads it; a checkpoint gives it, too.
// CHECK-LABEL: func.func @gradients(
// CHECK-SAME: %[[W:.*]]: tensor<4xf32> {gantry.name = "w", gantry.variable = @w}, %[[MEAN:.*]]: tensor<4xf32> {gantry.name = "mean", gantry.variable = @mean}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
// CHECK: %[[R:.*]]:3 = gantry.gradient(%[[W]]) : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK: ^bb0(%[[V:.*]]: tensor<4xf32>):
// CHECK:   %[[C:.*]]:2 = gantry.checkpoint -> (tensor<f32>, tensor<4xf32>) {
// CHECK:     %[[NEW:.*]] = gantry.update_add %[[MEAN]], %[[V]] {gantry.variable = @mean}
// CHECK:     gantry.yield %{{.*}}, %[[NEW]] : tensor<f32>, tensor<4xf32>
// CHECK:   gantry.yield %[[C]]#0, %[[C]]#1 : tensor<f32>, tensor<4xf32>
// CHECK: return %[[R]]#2, %[[R]]#1, %[[R]]#1
func.func @gradients() -> (tensor<4xf32>, tensor<4xf32>) {
  %w = gantry.read @w : tensor<4xf32>
  %0:2 = gantry.gradient (%w) : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>):
    %1 = gantry.checkpoint -> (tensor<f32>) {
      gantry.assign_add @mean, %v : tensor<4xf32>
      %2 = gantry.reduce_sum %v {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
      gantry.yield %2 : tensor<f32>
    }
    gantry.yield %1 : tensor<f32>
  }
  %mean = gantry.read @mean : tensor<4xf32>
  return %0#1, %mean : tensor<4xf32>, tensor<4xf32>
}

// -----

gantry.variable @w = dense<0.5> : tensor<4xf32>

// Regions of a custom gradient read.
// CHECK-LABEL: func.func @custom(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32> {
// CHECK: gantry.mul %{{.*}}, %[[W]]
// CHECK: gantry.mul %{{.*}}, %[[W]]
func.func @custom(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %w = gantry.read @w : tensor<4xf32>
    %1 = gantry.mul %a, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  } backward {
  ^bb0(%a: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>):
    %w = gantry.read @w : tensor<4xf32>
    %1 = gantry.mul %d, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
