// RUN: gantry-opt %s --gantry-resolve-scopes | FileCheck %s

// The scope goes, its request stays on each op inside.
// CHECK-LABEL: @p2_scope_becomes_attribute(
// CHECK-NOT: gantry.on
// CHECK: %[[E:.*]] = gantry.exp %{{.*}} {gantry.device = #gantry.device<"GPU:1">{{[,}]}}
// CHECK: %[[R:.*]] = gantry.relu %[[E]] {gantry.device = #gantry.device<"GPU:1">{{[,}]}}
// CHECK: gantry.neg %[[R]] :
func.func @p2_scope_becomes_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  }
  %2 = gantry.neg %y : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// The inner scope wins part by part; an op's own request is the innermost scope.
// CHECK-LABEL: @d3_inner_wins_part_by_part(
// CHECK: gantry.exp %{{.*}} {gantry.device = #gantry.device<"/job:worker/task:1/device:GPU:1">{{[,}]}}
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"/job:worker/task:1/device:GPU:0">{{[,}]}}
func.func @d3_inner_wins_part_by_part(%x: tensor<4xf32>) {
  gantry.on "/job:worker/task:1" {
    gantry.on "GPU:1" {
      %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    }
  }
  return
}

// CPU inside GPU:1 is any CPU, not CPU:1.
// CHECK-LABEL: @d3_changing_the_type_drops_the_id(
// CHECK: gantry.exp %{{.*}} {gantry.device = #gantry.device<"CPU:*">{{[,}]}}
func.func @d3_changing_the_type_drops_the_id(%x: tensor<4xf32>) {
  gantry.on "GPU:1" {
    gantry.on "CPU" {
      %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    }
  }
  return
}

// Python's device(None): what is outside does not hold inside.
// CHECK-LABEL: @p2_none_clears(
// CHECK: gantry.exp %{{[^{]*}} :
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"GPU:0">{{[,}]}}
// CHECK: gantry.neg %{{.*}} {gantry.device = #gantry.device<"CPU:0">{{[,}]}}
func.func @p2_none_clears(%x: tensor<4xf32>) {
  gantry.on "GPU:1" {
    gantry.on "/device:*" {
      %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
      gantry.on "CPU:0" {
        %2 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
      }
    }
  }
  return
}

// Bodies of control flow and calls are inside, too.
// CHECK-LABEL: @p2_bodies_and_calls_are_inside(
// CHECK: gantry.if
// CHECK: gantry.exp %{{.*}} {gantry.device = #gantry.device<"GPU:0">{{[,}]}}
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"CPU:0">{{[,}]}}
// CHECK: call @callee(%{{.*}}) {gantry.device = #gantry.device<"GPU:0">{{[,}]}}
func.func @p2_bodies_and_calls_are_inside(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = gantry.on "GPU:0" -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.if %c -> (tensor<4xf32>) {
      %1 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %1 : tensor<4xf32>
    } else {
      %2 = gantry.on "CPU:0" -> (tensor<4xf32>) {
        %3 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        gantry.yield %3 : tensor<4xf32>
      }
      gantry.yield %2 : tensor<4xf32>
    } : tensor<i1>
    %4 = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0, %4 : tensor<4xf32>, tensor<4xf32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}

// Scopes inside bodies of scopes inside bodies; a constant of a scope is at home on its device.
// CHECK-LABEL: func.func @callee(
// CHECK: gantry.constant {gantry.device = #gantry.device<"GPU:0">, gantry.origin = {{.*}}} dense<1.000000e+00> : tensor<4xf32>
// CHECK: gantry.add %{{.*}} {gantry.device = #gantry.device<"GPU:0">{{[,}]}}
func.func @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = gantry.on "GPU:0" -> (tensor<4xf32>) {
    %one = gantry.constant dense<1.0> : tensor<4xf32>
    %0 = gantry.add %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// The innermost scope that says something gives softness and origin; an op's own words come first.
// CHECK-LABEL: @p5_softness_and_origin(
// CHECK: gantry.exp %{{.*}} {gantry.device = #gantry.device<"GPU:7">, gantry.origin = {{[^,]*}}, gantry.soft = #gantry<soft prefer>}
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"GPU:1">, gantry.soft = #gantry<soft strict>}
// CHECK: gantry.neg %{{.*}} {gantry.device = #gantry.device<"GPU:7">, gantry.origin = {{[^,]*}}, gantry.soft = #gantry<soft any>}
// CHECK: gantry.abs %{{[^ ]*}} :
func.func @p5_softness_and_origin(%x: tensor<4xf32>) {
  gantry.on "GPU:7" soft prefer {
    %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">, gantry.soft = #gantry<soft strict>} : (tensor<4xf32>) -> tensor<4xf32>
    gantry.on "GPU" soft any {
      %2 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    }
    gantry.on "/device:*" {
      %3 = gantry.abs %x : (tensor<4xf32>) -> tensor<4xf32>
    }
  }
  return
}

// A request on control flow is a scope for what is inside.
// CHECK-LABEL: @p2_request_on_a_branch(
// CHECK: gantry.neg %{{.*}} {gantry.device = #gantry.device<"GPU:1">, gantry.origin = 
// CHECK: gantry.abs %{{.*}} {gantry.device = #gantry.device<"CPU:*">}
func.func @p2_request_on_a_branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.if %c -> (tensor<4xf32>) {
    %1 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  } else {
    %1 = gantry.abs %x {gantry.device = #gantry.device<"CPU">} : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  } {gantry.device = #gantry.device<"GPU:1">} : tensor<i1>
  return %0 : tensor<4xf32>
}
