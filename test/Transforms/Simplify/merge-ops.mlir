// Equal ops with equal requests are one op wherever the requests come from; the first one's place
// is kept (spec P1).

// RUN: gantry-opt %s --gantry-resolve-scopes --gantry-merge-ops | FileCheck %s --check-prefixes=CHECK,MERGED
// What CSE alone does: it sees two scopes.
// RUN: gantry-opt %s --gantry-resolve-scopes --cse | FileCheck %s --check-prefix=CSE

// CHECK: #[[$FIRST:loc[0-9]*]] = loc("{{.*}}merge-ops.mlir":[[#@LINE+9]]:8)
// CHECK-LABEL: @p1_two_scopes_one_request
// CHECK-NEXT: %[[Y:.*]] = gantry.relu {{.*}}GPU:1{{.*}}, gantry.origin = #[[$FIRST]]}
// CHECK-NEXT: return %[[Y]], %[[Y]]
// CSE-LABEL: @p1_two_scopes_one_request
// CSE: gantry.relu
// CSE: gantry.relu
// CSE: return
func.func @p1_two_scopes_one_request(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  %1 = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// MERGED-LABEL: @p1_two_scopes_two_requests
// MERGED: gantry.relu {{.*}}GPU:0{{.*}}gantry.origin
// MERGED: gantry.relu {{.*}}GPU:1{{.*}}gantry.origin
// MERGED: gantry.relu {{.*}}GPU:1{{.*}}gantry.origin{{.*}}gantry.soft = #gantry<soft prefer>
func.func @p1_two_scopes_two_requests(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.on "GPU:0" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  %1 = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  %2 = gantry.on "GPU:1" soft prefer -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
