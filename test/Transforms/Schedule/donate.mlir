// What callers may give away: an output lies over it where nothing reads it behind what computes
// that output. It is copied there first, which moves nothing where both are one array.
// RUN: gantry compile %s --stop-after=schedule -o - 2>&1 | FileCheck %s --enable-var-scope

// Read byte by byte as it is written.
// CHECK-LABEL: plan.func @step
// CHECK: %[[W:.*]] = plan.input 0
// CHECK: %[[G:.*]] = plan.input 1
// CHECK: %[[NEXT:.*]] = plan.output 0 size 64 {gantry.over = 0 : i64}
// CHECK-NEXT: plan.copy %[[W]] to %[[NEXT]] on @d0 "w"
// CHECK-NEXT: plan.launch @{{.*}}(%[[NEXT]], %[[G]]) -> (%[[NEXT]])
func.func @step(%w: tensor<16xf32> {gantry.donate, gantry.name = "w"}, %g: tensor<16xf32>) -> tensor<16xf32> {
  %next = gantry.sub %w, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %next : tensor<16xf32>
}

// Each state keeps its own array, in whatever order they are returned.
// CHECK-LABEL: plan.func @states
// CHECK: plan.output 0 size 64 {gantry.over = 1 : i64}
// CHECK: plan.output 1 size 64 {gantry.over = 0 : i64}
// CHECK: plan.output 2 size 64{{$}}
func.func @states(%w: tensor<16xf32> {gantry.donate}, %m: tensor<16xf32> {gantry.donate}, %g: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %a = gantry.mul %m, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %b = gantry.sub %w, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %c = gantry.neg %g : (tensor<16xf32>) -> tensor<16xf32>
  return %a, %b, %c : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// A product reads all of its operands for each element; the other output has nothing to do with w.
// CHECK-LABEL: plan.func @product
// CHECK: %[[Y:.*]] = plan.output 0 size 262144{{$}}
// CHECK: %[[Z:.*]] = plan.output 1 size 262144 {gantry.over = 0 : i64}
// CHECK: plan.launch @{{.*}}(%{{.*}}, %[[Z]]) -> (%[[Y]])
// CHECK: plan.launch @{{.*}}(%[[Y]]) -> (%[[Z]])
func.func @product(%w: tensor<256x256xf32> {gantry.donate}, %x: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>) {
  %y = gantry.matmul %x, %w : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %z = gantry.softmax %y {axis = 0 : i64} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  return %y, %z : tensor<256x256xf32>, tensor<256x256xf32>
}

// What a loop carries begins in the array; the loop's own reads are of what it carries.
// CHECK-LABEL: plan.func @loop
// CHECK: %[[FIRST:.*]] = plan.input 0
// CHECK: %[[LAST:.*]] = plan.output 0 size 64 {gantry.over = 0 : i64}
// CHECK: plan.copy %[[FIRST]] to %[[LAST]]
// CHECK: plan.while
// CHECK-NOT: %[[FIRST]]
func.func @loop(%w: tensor<16xf32> {gantry.donate}, %limit: tensor<f32>) -> tensor<16xf32> {
  %last = gantry.while (%w) : (tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%v: tensor<16xf32>):
    %sum = gantry.reduce_sum %v {axes = array<i64: 0>} : (tensor<16xf32>) -> tensor<f32>
    %more = gantry.compare lt, %sum, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%v: tensor<16xf32>):
    %twice = gantry.add %v, %v : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    gantry.yield %twice : tensor<16xf32>
  }
  return %last : tensor<16xf32>
}

// The caller has another shape.
// CHECK-LABEL: plan.func @shapes
// CHECK: plan.output 0 size 64{{$}}
func.func @shapes(%w: tensor<16xf32> {gantry.donate}) -> tensor<4x4xf32> {
  %a = gantry.neg %w : (tensor<16xf32>) -> tensor<16xf32>
  %b = gantry.reshape %a : (tensor<16xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// Handed on.
// CHECK-LABEL: plan.func @same
// CHECK: %[[IN:.*]] = plan.input 0
// CHECK: %[[OUT:.*]] = plan.output 0 size 64 {gantry.over = 0 : i64}
// CHECK: plan.copy %[[IN]] to %[[OUT]]
func.func @same(%w: tensor<16xf32> {gantry.donate}) -> tensor<16xf32> {
  return %w : tensor<16xf32>
}
