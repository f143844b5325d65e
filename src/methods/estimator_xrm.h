/* estimator_xrm.h - what cross risk minimisation leaves beside its groups. */
#ifndef GN_METHODS_ESTIMATOR_XRM_H
#define GN_METHODS_ESTIMATOR_XRM_H

#include "methods/method.h"

extern const gn_method gn_estimator_xrm;

/* Logits [n][classes] of the training samples by the network that was not trained on them; after
 * the estimator's stage. Lives as long as the run. */
GERNE_CHECKED gerne_status gn_xrm_held_out(gn_run *run, const float **logits);

#endif
